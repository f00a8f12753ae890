// Scopes and budgets with known books; each case checks itself. Argument: CASE.
#include <heapledger/scope.hpp>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "books.hpp"

using heapledger::budget;
using heapledger::enter;
using heapledger::on_exceed;
using heapledger::owned_scope;
using heapledger::scope;
using heapledger::usage;

namespace {

constexpr budget failing(std::uint64_t live_bytes) {
  return {.live_bytes = live_bytes, .action = on_exceed::fail};
}

#define CHECK_USED(scope_, live_, blocks_, allocated_, allocations_, frees_)                                        \
  do {                                                                                                              \
    const usage u_ = (scope_).used();                                                                               \
    if (!(u_.live_bytes == (live_) && u_.live_blocks == (blocks_) && u_.allocated_bytes == (allocated_) &&          \
          u_.allocations == (allocations_) && u_.frees == (frees_)))                                                \
      std::fprintf(stderr, "live %ld in %ld, allocated %lu in %lu, %lu frees\n", u_.live_bytes, u_.live_blocks,     \
                   u_.allocated_bytes, u_.allocations, u_.frees),                                                   \
          test::check(false, #scope_ " used otherwise", __LINE__);                                                  \
  } while (0)

void* take(std::size_t bytes) {
  void* block = malloc(bytes);
  test::escape(block);
  return block;
}

template <class F>
void in_thread(F f) {
  std::thread(f).join();
}

// ---- who is credited

void credits() {
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

void entry_points() {
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

void nested() {
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

// A peak can be between two looks, and be made of several scopes.
void peak() {
  const scope a("a"), b("b", {}, a);
  std::vector<void*> blocks(100);
  const enter in(a);
  for (int round = 1; round <= 3; ++round) {
    for (void*& block : blocks) block = take(100);
    {
      const enter in_b(b);
      void* p = take(500 * round);
      free(p);
      p = take(10);
      free(p);
    }
    for (void* block : blocks) free(block);
  }
  CHECK(b.used().peak_bytes == 1500);
  CHECK(a.used().peak_bytes == 10000 + 1500);
  CHECK(a.used().error_bytes == 0);
}

// ---- recycling

void recycling(unsigned count) {
  std::vector<scope> old;
  std::vector<void*> late(97);
  unsigned destroyed_later = 0;
  for (unsigned i = 0; i < count; ++i) {
    scope s(i % 3 == 0 ? "request" : "query");
    {
      const enter in(s);
      void*& slot = late[i % late.size()];
      void* p = take(40);
      free(slot);  // of a scope 97 scopes ago, closed by now
      slot = take(24);
      free(p);
    }
    CHECK(s.used().live_bytes == 24);
    s.close();
    if (i % 1000 == 0) old.push_back(s);
  }
  for (void* p : late) free(p);
  for (int i = 0; i < 200; ++i) owned_scope("last");
  for (const scope s : old) {
    const enter in(s);  // stale handles are no scopes
    CHECK(scope::current() == scope::process());
    destroyed_later += s.used() .allocations == 0;
  }
  CHECK(destroyed_later == old.size());
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

// Scopes that begin and end in threads while others free what they left.
void churn(unsigned thread_count, unsigned rounds) {
  std::array<std::atomic<void*>, 64> mail{};
  const auto work = [&](unsigned who) {
    for (unsigned i = 0; i < rounds; ++i) {
      owned_scope s("request");
      const enter in(s);
      void* kept = take(100 + i % 50);
      owned_scope part("part");
      {
        const enter in_part(part);
        free(take(30));
        free(mail[(i * 7 + who) % mail.size()].exchange(take(60)));
      }
      const usage u = scope(s).used();
      CHECK(u.allocations == 3 && u.live_bytes >= 100 + i % 50 && u.live_bytes <= 160 + i % 50);
      free(kept);
    }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < thread_count; ++i) all.emplace_back(work, i);
  for (auto& each : all) each.join();
  for (auto& box : mail) free(box.exchange(nullptr));
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

// ---- budgets

void fails() {
  const scope s("limited", failing(1000));
  const enter in(s);
  void* a = take(600);
  CHECK(a);
  errno = 0;
  CHECK(!take(401) && errno == ENOMEM);
  void* b = take(400);
  CHECK(b);
  CHECK(s.remaining().live_bytes == 0);
  CHECK(!take(1) && !calloc(1, 1) && !memalign(64, 1) && !aligned_alloc(64, 1));
  void* none = &a;
  CHECK(posix_memalign(&none, 64, 1) == ENOMEM && none == &a);
  CHECK(new (std::nothrow) char == nullptr);
  int caught = 0;
  try {
    test::escape(new char);
  } catch (const heapledger::budget_exceeded& e) {
    CHECK(e.where() == s && e.used().live_bytes == 1000 && e.requested_bytes() == 1);
    CHECK(std::string_view(e.what()).find("limited") != std::string_view::npos);
    ++caught;
  }
  try {
    test::escape(new char[8]);
  } catch (const std::bad_alloc&) {
    ++caught;
  }
  try {
    test::escape(::operator new(8, std::align_val_t{256}));
  } catch (const std::bad_alloc&) {
    ++caught;
  }
  CHECK(caught == 3);
  // realloc: refused, the old block is as it was
  test::fill(b, 400, 1);
  CHECK(!realloc(b, 401));
  CHECK(test::holds(b, 400, 1));
  CHECK_USED(s, 1000, 2, 1000u, 2u, 0u);
  b = realloc(b, 100);
  CHECK(b && test::holds(b, 100, 1));
  void* c = take(300);
  CHECK(c && !take(1));
  for (void* each : {a, b, c}) free(each);
  CHECK(s.used().live_bytes == 0 && s.used().peak_bytes == 1000);
  CHECK(s.stop_token().stop_requested());
}

void counts() {
  const scope bytes("bytes", {.allocated_bytes = 1000, .action = on_exceed::fail});
  const scope number("number", {.allocations = 10, .action = on_exceed::fail});
  {
    const enter in(bytes);
    for (int i = 0; i < 10; ++i) free(take(100));
    CHECK(!take(1));
  }
  const enter in(number);
  for (int i = 0; i < 10; ++i) free(take(100000));
  CHECK(!take(1));
  CHECK(number.remaining().allocations == 0 && bytes.remaining().allocated_bytes == 0);
}

void ancestors() {
  const scope parent("parent", failing(1000)), child("child", failing(5000), parent), sibling("sibling", {}, parent);
  void *a, *b;
  {
    const enter in(child);
    a = take(900);
    CHECK(a && !take(101));
  }
  {
    const enter in(sibling);
    CHECK(!take(101));
    b = take(100);
    CHECK(b);
  }
  CHECK(child.remaining().live_bytes == 0);
  free(a);
  free(b);
  CHECK(child.stop_token().stop_requested() && parent.stop_token().stop_requested() &&
        sibling.stop_token().stop_requested());
}

void stops() {
  const scope parent("parent"), s("soft", {.live_bytes = 1000}, parent), other("other", {}, parent);
  const auto token = s.stop_token();
  CHECK(token.stop_possible() && !token.stop_requested());
  const enter in(s);
  void* a = take(1000);
  CHECK(a && !token.stop_requested());
  void* b = take(1);
  CHECK(b && token.stop_requested());
  CHECK(!parent.stop_token().stop_requested() && !other.stop_token().stop_requested());
  parent.request_stop();
  CHECK(other.stop_token().stop_requested());
  CHECK_USED(s, 1001, 2, 1001u, 2u, 0u);
  free(a);
  free(b);
}

struct allocates_in_destructor {
  const scope& in;
  bool& good;
  ~allocates_in_destructor() {
    char* needed = new char[5000];  // would end in std::terminate
    test::escape(needed);
    good = needed != nullptr;
    delete[] needed;
  }
};

void spares() {
  const scope s("spared", failing(1000));
  const enter in(s);
  {
    const heapledger::must_not_fail now;
    void* p = take(2000);
    CHECK(p);
    free(p);
  }
  CHECK(!take(2000));
  bool good = false;
  try {
    const allocates_in_destructor last{s, good};
    void* full = take(900);
    try {
      test::escape(new char[200]);
    } catch (...) {
      free(full);
      throw;
    }
  } catch (const std::bad_alloc&) {
  }
  CHECK(good);
  CHECK(s.used().live_bytes == 0);
}

void thresholds() {
  scope s("watched", failing(1000));
  std::vector<std::int64_t> seen;
  void* cache = nullptr;
  CHECK(s.at_fraction(0.5, [&](scope which, usage u) {
    CHECK(which == s && scope::current() == scope::process());
    seen.push_back(u.live_bytes);
  }));
  CHECK(s.at_fraction(0.9, [&](scope, usage) {
    free(cache);
    cache = nullptr;
  }));
  const enter in(s);
  cache = take(300);
  void* a = take(199);
  CHECK(seen.empty());
  void* b = take(1);
  CHECK(seen == std::vector<std::int64_t>{499});
  void* c = take(600);  // fits because the callback frees the cache
  CHECK(c && cache == nullptr);
  CHECK(s.used().live_bytes == 800);
  CHECK(seen.size() == 2 && seen[1] == 200);  // it was well below, and passed once more
  for (void* each : {a, b, c}) free(each);
  a = take(499);
  CHECK(seen.size() == 2);
  b = take(1);
  CHECK(seen.size() == 3);
  free(b);
  free(a);
}

// Whatever threads do, what they hold together is within the limit, by books that we did not keep.
void overshoot(unsigned thread_count, unsigned rounds) {
  constexpr std::int64_t limit = 20'000;
  const scope s("limited", failing(limit)), below("below", {}, s);
  std::atomic<std::int64_t> held{0}, highest{0};
  std::atomic<std::uint64_t> refused{0};
  pthread_barrier_t ready;
  pthread_barrier_init(&ready, nullptr, thread_count);
  const auto work = [&](unsigned who) {
    pthread_barrier_wait(&ready);
    std::uint32_t random = who * 2654435761u + 1;
    std::array<std::pair<void*, std::int64_t>, 32> mine{};
    for (unsigned i = 0; i < rounds; ++i) {
      random = random * 1664525u + 1013904223u;
      auto& [block, bytes] = mine[(random >> 8) % mine.size()];
      if (block != nullptr) {
        held -= bytes;
        free(block);
        block = nullptr;
        continue;
      }
      bytes = (random >> 16) % 4000;
      const enter in(i % 2 == 0 ? s : below);
      block = take(static_cast<std::size_t>(bytes));
      if (block == nullptr) {
        ++refused;
        continue;
      }
      const std::int64_t now = held += bytes;
      CHECK(now <= limit);
      for (std::int64_t known = highest; now > known && !highest.compare_exchange_weak(known, now);) {
      }
      const std::int64_t used = i % 64 == 0 ? s.used().live_bytes : 0;
      CHECK(used <= limit);
    }
    for (auto& [block, bytes] : mine)
      if (block != nullptr) {
        held -= bytes;
        free(block);
      }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < thread_count; ++i) all.emplace_back(work, i);
  for (auto& each : all) each.join();
  CHECK(s.used().live_bytes == 0);
  CHECK(s.used().peak_bytes <= limit);
  CHECK(highest > limit / 2 && refused > 0);  // the limit was really met
}

// What idle threads hold in advance is not lost to the others: the last byte can be had.
void last_byte() {
  constexpr std::int64_t limit = 100'000;
  const scope s("limited", failing(limit));
  pthread_barrier_t held;
  pthread_barrier_init(&held, nullptr, 5);
  std::vector<std::thread> idle;
  for (int i = 0; i < 4; ++i)
    idle.emplace_back([&] {
      const enter in(s);
      free(take(100));
      pthread_barrier_wait(&held);
      pthread_barrier_wait(&held);
    });
  pthread_barrier_wait(&held);
  {
    const enter in(s);
    void* most = take(limit - 1);
    CHECK(most);
    void* last = take(1);
    CHECK(last && !take(1));
    free(most);
    free(last);
  }
  pthread_barrier_wait(&held);
  for (auto& each : idle) each.join();
}

// ---- other things

void moves() {
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
void signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGALRM, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const scope a("a"), b("b", failing(100'000)), c("c", {}, b);
  const itimerspec often{{0, 20'000}, {0, 20'000}};
  timer_settime(timer, 0, &often, nullptr);
  std::array<void*, 16> blocks{};
  for (unsigned i = 0; signals_seen < 2000; ++i) {
    const enter in(i % 3 == 0 ? a : i % 3 == 1 ? b : c);
    void*& block = blocks[i * 7 % blocks.size()];
    free(block);
    block = take(i % 300);
  }
  const itimerspec never{};
  timer_settime(timer, 0, &never, nullptr);
  for (void* block : blocks) free(block);
  free(in_handler);
  timer_delete(timer);
  for (const scope& each : {a, b, c}) {
    CHECK(each.used().live_bytes == 0);
    CHECK(each.used().live_blocks == 0);
  }
}

void forked() {
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

void many_kinds() {
  for (int i = 0; i < 6000; ++i) {
    owned_scope s("kind " + std::to_string(i));
    const enter in(s);
    free(take(10));
    CHECK(scope(s).used().allocations == 1);
  }
}

// For the report: known numbers under known names.
void profile() {
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

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::atoi(argv[at])) : otherwise;
  };
  if (!heapledger::active()) {
    std::puts("inactive");
    return which == "profile" ? 0 : 3;
  }
  if (which == "credits") credits();
  else if (which == "entry_points") entry_points();
  else if (which == "nested") nested();
  else if (which == "peak") peak();
  else if (which == "recycling") recycling(number(2, 1'000'000));
  else if (which == "threads") threads(number(2, 8), number(3, 20'000));
  else if (which == "churn") churn(number(2, 8), number(3, 5'000));
  else if (which == "alternating") alternating(number(2, 64), number(3, 10'000));
  else if (which == "fails") fails();
  else if (which == "counts") counts();
  else if (which == "ancestors") ancestors();
  else if (which == "stops") stops();
  else if (which == "spares") spares();
  else if (which == "thresholds") thresholds();
  else if (which == "overshoot") overshoot(number(2, 8), number(3, 20'000));
  else if (which == "last_byte") last_byte();
  else if (which == "moves") moves();
  else if (which == "signals") signals();
  else if (which == "forked") forked();
  else if (which == "many_kinds") many_kinds();
  else if (which == "profile") profile();
  else return 2;
  return 0;
}
