// Scopes with known books; each case checks itself. Arguments: CASE [NUMBER [NUMBER]].
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::budget;
using heapledger::enter;
using heapledger::on_exceed;
using heapledger::owned_scope;
using heapledger::scope;
using heapledger::usage;
using test::failing;
using test::take;

namespace {

template <class F>
void in_thread(F f) {
  std::thread(f).join();
}

// ---- who is credited

void credits(unsigned, unsigned) {
  const scope a("a"), b("b");
  void *p, *q;
  {
    const enter in(a);
    p = take(100);
    q = take(70000);  // a large block
    CHECK_USED(a, 70100, 2, 70100u, 2u, 0u);
    const enter in_b(b);
    free(p);
    CHECK_USED(a, 70000, 1, 70100u, 2u, 1u);
    CHECK_USED(b, 0, 0, 0u, 0u, 0u);
    CHECK(scope::current() == b);
  }
  CHECK(scope::current() == scope::process());
  in_thread([&] { free(q); });
  CHECK_USED(a, 0, 0, 70100u, 2u, 2u);
  CHECK(a.used().peak_bytes == 70100);

  // after close, in another thread, and by realloc
  void* late;
  {
    const enter in(a);
    late = take(50);
    p = take(10);
  }
  scope closed = a;
  closed.close();
  in_thread([&] {
    const enter in(b);
    late = realloc(late, 5000);  // from now on b's
    CHECK(late);
  });
  CHECK_USED(a, 10, 1, 70160u, 4u, 3u);
  CHECK_USED(b, 5000, 1, 5000u, 1u, 0u);
  free(p);
  CHECK_USED(a, 0, 0, 70160u, 4u, 4u);
  {
    const enter in(a);  // closed: the nearest open ancestor is the process
    CHECK(scope::current() == scope::process());
  }
  free(late);
  CHECK_USED(b, 0, 0, 5000u, 1u, 1u);
}

void entry_points(unsigned, unsigned) {
  const scope s("entry points");
  const enter in(s);
  std::uint64_t bytes = 0, count = 0;
  const auto expect = [&](void* block, std::size_t size) {
    CHECK(block);
    test::escape(block);
    bytes += size;
    ++count;
    CHECK_USED(s, static_cast<std::int64_t>(size), 1, bytes, count, count - 1);
    free(block);
    CHECK_USED(s, 0, 0, bytes, count, count);
  };
  for (const std::size_t size : {0, 1, 24, 100, 5000, 65535, 65536, 70000, 1 << 20}) {
    expect(malloc(size), size);
    expect(calloc(1, size), size);
    expect(reallocarray(nullptr, size, 1), size);
    for (const std::size_t alignment : {16, 64, 4096, 1 << 20}) {
      expect(memalign(alignment, size), size);
      expect(aligned_alloc(alignment, size), size);
      void* block = nullptr;
      CHECK(posix_memalign(&block, alignment, size) == 0);
      expect(block, size);
    }
    void* block = malloc(1);
    CHECK(malloc_usable_size(block) >= 1);
    block = realloc(block, size + 1);
    bytes += 1;
    count += 1;
    expect(block, size + 1);
  }
  free(nullptr);
  CHECK_USED(s, 0, 0, bytes, count, count);
  {
    char* one = new char;
    test::escape(one);
    char* many = new char[30];
    test::escape(many);
    struct alignas(128) wide {
      char of[128];
    };
    auto* aligned = new wide;
    test::escape(aligned);
    CHECK_USED(s, 159, 3, bytes + 159, count + 3, count);
    delete one;
    delete[] many;
    delete aligned;
  }
}

void nested(unsigned, unsigned) {
  const scope a("a"), b("b", {}, a), c("c", {}, b), d("d", {}, a);
  std::array<void*, 4> blocks;
  std::array<scope, 4> all = {a, b, c, d};
  for (std::size_t i = 0; i < 4; ++i) {
    const enter in(all[i]);
    blocks[i] = take(1000 << i);
  }
  CHECK_USED(a, 15000, 4, 15000u, 4u, 0u);
  CHECK_USED(b, 6000, 2, 6000u, 2u, 0u);
  CHECK_USED(c, 4000, 1, 4000u, 1u, 0u);
  CHECK(a.used_alone().live_bytes == 1000 && b.used_alone().live_bytes == 2000);
  CHECK(a.used().peak_bytes == 15000 && b.used().peak_bytes == 6000);
  CHECK(c.parent() == b && b.parent() == a && a.parent() == scope::process());
  for (scope each : {c, b, d}) each.close();
  free(blocks[2]);
  free(blocks[1]);
  free(blocks[3]);
  CHECK_USED(a, 1000, 1, 15000u, 4u, 3u);
  // recycled descendants still count
  for (int i = 0; i < 1000; ++i) {
    const owned_scope other("other", {}, a);
    const enter in(other);
    free(take(10));
  }
  CHECK_USED(a, 1000, 1, 25000u, 1004u, 1003u);
  CHECK(a.used().peak_bytes == 15000);
  free(blocks[0]);
}

// ---- threads

struct shared_block {
  void* block;
  unsigned scope;
  unsigned bytes;
};

// Threads allocate in scopes of their own choice and free what others allocated; each keeps its own books.
void threads(unsigned thread_count, unsigned rounds) {
  constexpr unsigned scope_count = 300;  // more than a thread has slots
  std::vector<scope> scopes;
  for (unsigned i = 0; i < scope_count; ++i)
    scopes.emplace_back("work", budget{}, i < 10 ? scope::process() : scopes[i % 10]);
  std::vector<std::atomic<std::uint64_t>> allocated(scope_count), freed(scope_count), calls(scope_count);
  constexpr unsigned mailbox_count = 1024;
  std::vector<std::atomic<shared_block*>> mail(mailbox_count);
  std::vector<shared_block> records(std::size_t{thread_count} * rounds);
  const auto give = [&](shared_block* from) {
    if (from == nullptr) return;
    freed[from->scope] += from->bytes;
    free(from->block);
  };
  const auto work = [&](unsigned who) {
    std::uint32_t random = who * 2654435761u + 1;
    for (unsigned i = 0; i < rounds; ++i) {
      random = random * 1664525u + 1013904223u;
      const unsigned which = (random >> 8) % scope_count;
      shared_block& mine = records[std::size_t{who} * rounds + i];
      mine.scope = which;
      mine.bytes = 1 + (random >> 20) % 200;
      {
        const enter in(scopes[which]);
        mine.block = take(mine.bytes);
      }
      allocated[which] += mine.bytes;
      ++calls[which];
      give(mail[(random >> 4) % mailbox_count].exchange(&mine));
    }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < thread_count; ++i) all.emplace_back(work, i);
  for (auto& each : all) each.join();
  for (unsigned i = 0; i < scope_count; ++i) {
    const usage u = scopes[i].used_alone();
    CHECK(u.allocations == calls[i] && u.allocated_bytes == allocated[i]);
    CHECK(u.live_bytes == static_cast<std::int64_t>(allocated[i] - freed[i]));
  }
  for (auto& box : mail) give(box.exchange(nullptr));
  for (const scope& each : scopes) CHECK(each.used().live_bytes == 0 && each.used().live_blocks == 0);
}

void alternating(unsigned count, unsigned rounds) {
  std::vector<scope> scopes;
  for (unsigned i = 0; i < count; ++i) scopes.emplace_back("alternating");
  std::vector<void*> blocks(count);
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < count; ++i) {
      const enter in(scopes[i]);
      free(blocks[(i + 1) % count]);
      blocks[(i + 1) % count] = nullptr;
      void*& mine = blocks[i];
      free(mine);
      mine = take(16);
    }
  for (void* block : blocks) free(block);
  for (const scope& each : scopes) CHECK_USED(each, 0, 0, std::uint64_t{rounds} * 16, rounds, rounds);
}

// ---- other things

struct works_once {
  std::unique_ptr<int> of;
  int operator()() && { return *std::move(of); }
};

void moves(unsigned, unsigned) {
  const scope a("a"), b("b"), tight("tight", failing(10));
  void *small, *large;
  {
    const enter in(a);
    small = take(100);
    large = take(100'000);
  }
  CHECK(!heapledger::transfer(small, tight));
  CHECK_USED(a, 100'100, 2, 100'100u, 2u, 0u);
  CHECK(heapledger::transfer(small, b) && heapledger::transfer(large, b));
  CHECK_USED(a, 0, 0, 100'100u, 2u, 2u);
  CHECK_USED(b, 100'100, 2, 100'100u, 2u, 0u);
  free(small);
  free(large);
  CHECK_USED(b, 0, 0, 100'100u, 2u, 2u);
  auto made = heapledger::run_in(a, [] { return std::make_unique<int>(7); });
  CHECK(heapledger::transfer(made.get(), b));
  made.reset();  // by the operator that belongs to the one that made it

  CHECK(heapledger::add_foreign(a, 1'000'000));
  CHECK(a.used().live_bytes == 1'000'000);
  CHECK(heapledger::add_foreign(a, -1'000'000));
  CHECK(a.used().live_bytes == 0);
  CHECK(!heapledger::add_foreign(tight, 11) && heapledger::add_foreign(tight, 10));
  CHECK(heapledger::add_foreign(tight, -10));

  heapledger::scope_resource of_b(b);
  {
    std::pmr::vector<int> v(1000, &of_b);
    CHECK(b.used().live_bytes == 4000);
  }
  CHECK(b.used().live_bytes == 0);

  const auto later = heapledger::bind(a, [](int x) { return test::escape(take(0)), x + 1; });
  auto mutable_later = later;
  CHECK(mutable_later(1) == 2);
  CHECK(heapledger::bind(a, works_once{std::make_unique<int>(3)})() == 3);
  CHECK(heapledger::run_in(a, [] { return scope::current(); }) == a);
}

volatile sig_atomic_t signals_seen = 0;
void* in_handler = nullptr;
void on_signal(int) {
  free(in_handler);
  in_handler = malloc(123);
  signals_seen = signals_seen + 1;
}

// A handler that interrupts anything, bookings too; its memory is charged to the scope that it interrupted. Needs an
// allocator that may be interrupted: ring_allocator.
void signals(unsigned, unsigned) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGALRM, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const scope a("a"), b("b", failing(100'000)), c("c", {}, b);
  const itimerspec soon{{0, 0}, {0, 20'000}};
  std::array<void*, 16> blocks{};
  int asked = 0;
  for (unsigned i = 0; signals_seen < 2000; ++i) {
    // Not by an interval: on a busy machine a handler can take longer, and nothing else would run.
    if (asked == signals_seen) {
      ++asked;
      timer_settime(timer, 0, &soon, nullptr);
    }
    const enter in(i % 3 == 0 ? a : i % 3 == 1 ? b : c);
    void*& block = blocks[i * 7 % blocks.size()];
    free(block);
    block = take(i % 300);
  }
  for (void* block : blocks) free(block);
  free(in_handler);
  timer_delete(timer);
  for (const scope& each : {a, b, c}) {
    CHECK(each.used().live_bytes == 0);
    CHECK(each.used().live_blocks == 0);
  }
}

void forked(unsigned, unsigned) {
  const scope s("parent's");
  const enter in(s);
  void* p = take(100);
  const pid_t child = fork();
  if (child == 0) {
    free(p);
    const scope own("child's");
    CHECK(scope::current() == scope::process());
    {
      const enter in_old(s);
      CHECK(scope::current() == scope::process());
      const enter in_own(own);
      p = take(50);
      CHECK(own.used().live_bytes == 50);
      free(p);
    }
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK_USED(s, 100, 1, 100u, 1u, 0u);
  free(p);
}

void many_kinds(unsigned, unsigned) {
  const scope server("server", {.live_bytes = 1 << 20});
  for (int i = 0; i < 6000; ++i) {
    owned_scope s("kind " + std::to_string(i));
    const enter in(s);
    free(take(10));
    CHECK(scope(s).used().allocations == 1);
  }
  for (int i = 0; i < 10; ++i) owned_scope("one more " + std::to_string(i), {.live_bytes = 1000}, server);
}

// Who frees whose memory: known numbers too.
void freers(unsigned, unsigned) {
  const scope producer("producer"), consumer("consumer"), other_producer("producer");
  scope ended("ended");
  std::array<void*, 12> blocks;
  const auto fill = [&](const scope& in, std::size_t bytes) {
    const enter inside(in);
    for (void*& block : blocks) block = take(bytes);
  };
  const auto give_back = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from) free(blocks[from]);
  };
  fill(producer, 100);
  heapledger::run_in(consumer, [&] { give_back(0, 5); });
  in_thread([&] { heapledger::run_in(consumer, [&] { give_back(5, 8); }); });
  give_back(8, 10);
  heapledger::run_in(producer, [&] { give_back(10, 11); });        // its own: no news
  heapledger::run_in(other_producer, [&] { give_back(11, 12); });  // another of its kind
  fill(ended, 10);
  heapledger::run_in(consumer, [&] { give_back(0, 2); });
  ended.close();
  heapledger::run_in(consumer, [&] { give_back(2, 9); });
  fill(scope::process(), 1);
  heapledger::run_in(consumer, [&] {
    blocks[0] = realloc(blocks[0], 3000);  // a free, and its own
    give_back(0, 12);
  });
  void* last = heapledger::run_in(producer, [] { return take(50); });
  heapledger::run_in(consumer, [&] { last = realloc(last, PTRDIFF_MAX); });  // fails: was not freed
}

// For the report: known numbers under known names.
void profile(unsigned, unsigned) {
  const scope server("server"), request("request", failing(1 << 20), server);
  {
    const enter in(server);
    test::escape(take(1000));
    for (int i = 0; i < 10; ++i) {
      owned_scope query("query");
      const enter in_query(query);
      free(take(100));
      test::escape(take(i == 0 ? 7 : 0));
    }
  }
  const enter in(request);
  test::escape(take(5000));
  CHECK(!take(1 << 20));
}

// More pairs of scopes than the table of who frees whose memory has room for.
void many_freers(unsigned count, unsigned) {
  std::vector<scope> scopes;
  for (unsigned i = 0; i < count; ++i) scopes.emplace_back("kind " + std::to_string(i));
  for (const scope& owner : scopes)
    for (const scope& by : scopes) {
      void* block = heapledger::run_in(owner, [] { return take(10); });
      heapledger::run_in(by, [=] { free(block); });
    }
}

constexpr test::test_case cases[] = {
    {"credits", credits},
    {"entry_points", entry_points},
    {"nested", nested},
    {"threads", threads, 8, 20'000},
    {"many_freers", many_freers, 100},
    {"alternating", alternating, 64, 10'000},
    {"moves", moves},
    {"signals", signals},
    {"forked", forked},
    {"many_kinds", many_kinds},
    {"profile", profile},
    {"freers", freers},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
