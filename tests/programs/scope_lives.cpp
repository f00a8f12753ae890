// How scopes begin, end and are recycled; each case checks itself. Arguments: CASE [NUMBER [NUMBER]].
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::budget;
using heapledger::enter;
using heapledger::owned_scope;
using heapledger::scope;
using heapledger::usage;
using test::failing;
using test::take;

namespace {

void come_and_go() {
  for (int i = 0; i < 3000; ++i) {
    const owned_scope other("other");
    const enter in(other);
    free(take(8));
  }
}

void recycling(unsigned count, unsigned) {
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
    destroyed_later += s.used().allocations == 0;
  }
  CHECK(destroyed_later == old.size());
}

// A closed scope goes on until its last block is freed, and not longer, whatever else comes and goes.
void outliving(unsigned count, unsigned) {
  std::vector<scope> closed;
  std::vector<void*> blocks(count);
  for (unsigned i = 0; i < count; ++i) {
    scope s(i % 2 == 0 ? "one" : "other"), below("below", {}, s);
    {
      const enter in(i % 3 == 0 ? below : s);
      blocks[i] = take(100 + i);
    }
    s.close();  // before its child
    below.close();
    closed.push_back(s);
  }
  come_and_go();
  for (unsigned i = 0; i < count; ++i) CHECK_USED(closed[i], 100 + i, 1, 100u + i, 1u, 0u);
  for (unsigned i = 0; i < count; i += 2) free(blocks[i]);
  come_and_go();
  for (unsigned i = 0; i < count; ++i) {
    const usage u = closed[i].used();
    CHECK(i % 2 == 0 ? u == usage{} : u.live_bytes == 100 + i && u.live_blocks == 1);
  }
  for (unsigned i = 1; i < count; i += 2) free(blocks[i]);
  come_and_go();
  for (const scope& each : closed) CHECK(each.used() == usage{});
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

// The last block of a closed scope is resized: in place, larger and smaller, moving, and refused. A realloc in no scope
// makes the block nobody's, so what it was charged to is recycled: once.
void resized_last(unsigned, unsigned) {
  const scope holder("holder");
  for (const std::size_t from : {24, 1000, 100'000, 3'000'000}) {
    for (const std::size_t to : {25, 20, 2000, 90'000, 200'000, 5'000'000}) {
      scope s("resized");
      void* block;
      {
        const enter in(s);
        block = take(from);
      }
      s.close();
      come_and_go();
      CHECK_USED(s, static_cast<std::int64_t>(from), 1, from, 1u, 0u);
      CHECK(!realloc(block, PTRDIFF_MAX));
      CHECK_USED(s, static_cast<std::int64_t>(from), 1, from, 1u, 0u);
      {
        const enter in(holder);
        block = realloc(block, to);
      }
      CHECK(block && s.used().live_bytes == 0);
      come_and_go();
      CHECK(s.state() == heapledger::scope_state::gone);
      CHECK(holder.used().live_bytes == static_cast<std::int64_t>(to));
      free(block);
      CHECK(holder.used().live_bytes == 0);
    }
  }
}

// Short tasks that attach, allocate, and detach, while somebody else frees: what was live at once is the peak, and not
// what passed through. (ClickHouse 119880.)
void passing_through(unsigned rounds, unsigned) {
  constexpr std::size_t bytes = 68 * 1024, slots = 4;
  const scope query("query");
  std::array<std::atomic<void*>, slots> mail{};
  std::atomic<bool> ended{false};
  std::atomic<std::int64_t> held{0}, highest{0};
  std::thread consumer([&] {
    for (bool last = false; !last;) {
      last = ended;
      for (auto& box : mail)
        if (void* block = box.exchange(nullptr); block != nullptr) {
          free(block);
          held -= static_cast<std::int64_t>(bytes);
        }
      std::this_thread::yield();
    }
  });
  for (unsigned i = 0; i < rounds; ++i) {
    auto& box = mail[i % slots];
    while (box.load() != nullptr) std::this_thread::yield();
    const enter in(query);
    const std::int64_t now = held += static_cast<std::int64_t>(bytes);
    if (now > highest) highest = now;
    box = take(bytes);
  }
  ended = true;
  consumer.join();
  const usage u = query.used();
  CHECK(u.live_bytes == 0 && u.allocated_bytes == std::uint64_t{rounds} * bytes);
  CHECK(u.peak_bytes <= highest + u.error_bytes);
  CHECK(u.error_bytes <= 1 << 20 && highest <= static_cast<std::int64_t>((slots + 1) * bytes));
}

// ---- odd moments

struct before_main {
  scope s{"before main"};
  void* block = nullptr;
  before_main() {
    const enter in(s);
    block = take(77);
  }
} const early;

struct at_thread_end {
  scope s{"thread end"};
  void* block = nullptr;
  ~at_thread_end() {
    const enter in(s);
    free(block);
    test::escape(take(5));
  }
};

void odd_moments(unsigned, unsigned) {
  CHECK_USED(early.s, 77, 1, 77u, 1u, 0u);
  free(early.block);
  CHECK(early.s.used().live_bytes == 0);
  std::optional<scope> of;
  std::thread([&of] {
    static thread_local at_thread_end last;
    of = last.s;
    const enter in(last.s);
    last.block = take(33);
    // The thread ends in the scope that its destructors run in: nobody left it.
    heapledger_scope_enter(last.s.handle());
  }).join();
  CHECK(of->used().allocations == 2 && of->used().live_bytes == 5);
}

// What a thread enters after its last destructor, when its books are put away, no later thread is in.
pthread_key_t key;
scope too_late = scope::process();
void enter_in_the_last_round(void* value) {
  const auto rounds = reinterpret_cast<std::uintptr_t>(value);
  if (rounds > 1) {
    pthread_setspecific(key, reinterpret_cast<void*>(rounds - 1));  // asks to be called again
    return;
  }
  heapledger_scope_enter(too_late.handle());
  heapledger_spare(1);
  free(take(10));
}

void after_the_last_destructor(unsigned, unsigned) {
  CHECK(pthread_key_create(&key, enter_in_the_last_round) == 0);
  too_late = scope("too late");
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      free(take(10));
      pthread_setspecific(key, reinterpret_cast<void*>(std::uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS}));
    }).join();
    std::thread([] {
      CHECK(scope::current() == scope::process());
      const owned_scope limited("limited", failing(100));
      const enter in(limited);
      CHECK(!take(200));
    }).join();
  }
  CHECK(too_late.used().allocations == 0);
  too_late.close();
  come_and_go();
  CHECK(too_late.state() == heapledger::scope_state::gone);
}

// A library that makes scopes and is unloaded while they live, again and again, at whatever address.
void unloaded(unsigned rounds, unsigned) {
  for (unsigned i = 0; i < rounds; ++i) {
    void* library = dlopen(test::beside_program("scope_plugin.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    const auto open = reinterpret_cast<std::uint64_t (*)(void**)>(dlsym(library, "plugin_scope"));
    CHECK(open);
    void* block = nullptr;
    scope s = scope::from_handle(open(&block));
    CHECK(s.name() == "plugin" && s.used().live_bytes == 100 && s.limits().live_bytes == 1000);
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(test::beside_program("scope_plugin.so").c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr);
    CHECK(s.name() == "plugin" && s.used().live_bytes == 100);
    {
      const enter in(s);
      void* more = take(900);
      CHECK(more && !take(1));
      free(more);
      // Of code that is gone: its stack is not taken for ours.
      CHECK(heapledger::transfer(block, scope::process()));
      CHECK(heapledger::transfer(block, s));
    }
    free(block);
    CHECK(s.used().live_bytes == 0);
    s.close();
    come_and_go();
    CHECK(s.state() == heapledger::scope_state::gone);
  }
}

// Requests that run into a plugin, which is another one at the same address now and then.
void plugins_in_turn(unsigned rounds, unsigned requests) {
  for (unsigned i = 0; i < rounds; ++i) {
    void* plugin = dlopen(test::beside_program(i % 2 == 0 ? "plugin_a.so" : "plugin_b.so").c_str(), RTLD_NOW);
    CHECK(plugin);
    const auto work = reinterpret_cast<void* (*)(std::size_t)>(dlsym(plugin, "plugin_work"));
    for (unsigned request = 0; request < requests; ++request) {
      const owned_scope s("request");
      const enter in(s);
      for (void* block : {take(100), work(10), take(50)}) free(block);
    }
    CHECK(dlclose(plugin) == 0);
  }
}

// Blocks of unloaded code that are moved out of scopes, many times, take one account.
void moved_out(unsigned rounds, unsigned) {
  void* library = dlopen(test::beside_program("scope_plugin.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto open = reinterpret_cast<std::uint64_t (*)(void**)>(dlsym(library, "plugin_scope"));
  std::vector<void*> blocks(rounds);
  std::vector<scope> scopes;
  for (void*& block : blocks) scopes.push_back(scope::from_handle(open(&block)));
  CHECK(dlclose(library) == 0);
  for (void* block : blocks) CHECK(heapledger::transfer(block, scope::process()));
  for (scope& each : scopes) {
    CHECK(each.used().live_bytes == 0);
    each.close();
  }
  for (void* block : blocks) free(block);
}

// Blocks that are moved into a scope, and one that is allocated there, from the same stack: one place of the scope.
[[gnu::noinline]] void move_in(const char* name, unsigned count) {
  scope s(name);
  std::vector<void*> blocks;
  blocks.reserve(count + 1);
  while (blocks.size() <= count) {
    free(take(8));  // the next stack is a step from this one
    const enter in(blocks.size() == count ? s : scope::current());
    blocks.push_back(take(300));
  }
  free(blocks.back());
  blocks.pop_back();
  for (void* block : blocks) CHECK(heapledger::transfer(block, s));
  heapledger_site sites[8];
  const std::size_t found = heapledger_scope_sites(s.handle(), sites, 8);
  unsigned of_these = 0;
  for (std::size_t i = 0; i < found && i < 8; ++i) of_these += sites[i].allocated_bytes >= 300;
  CHECK(of_these == 1);
  for (void* block : blocks) free(block);
  s.close();
}
void moved_in(unsigned count, unsigned) {
  move_in("first", count);
  move_in("second", count);  // by now the places are known, and new stacks are added without a look
}

// Closed while threads hold leases of its budget: what they hold is not lost, and the scope is recycled.
void closed_with_leases(unsigned thread_count, unsigned) {
  const scope parent("parent", failing(1 << 20));
  scope s("closed", failing(1 << 20), parent);
  std::vector<std::thread> threads;
  std::vector<void*> blocks(thread_count);
  for (void*& block : blocks)
    threads.emplace_back([&] {
      const enter in(s);
      free(take(5000));
      block = take(100);
    });
  for (auto& each : threads) each.join();
  s.close();
  const std::int64_t held = 100 * std::int64_t{thread_count};
  CHECK(s.used().live_bytes == held);
  {
    const enter in(parent);
    void* rest = take(static_cast<std::size_t>((1 << 20) - held));
    CHECK(rest && !take(1));
    free(rest);
  }
  for (void* block : blocks) free(block);
  come_and_go();
  CHECK(s.state() == heapledger::scope_state::gone && parent.used().live_bytes == 0);
}

constexpr test::test_case cases[] = {
    {"recycling", recycling, 1'000'000},
    {"outliving", outliving, 300},
    {"churn", churn, 8, 5'000},
    {"resized_last", resized_last},
    {"passing_through", passing_through, 20'000},
    {"odd_moments", odd_moments},
    {"after_the_last_destructor", after_the_last_destructor},
    {"unloaded", unloaded, 20},
    {"plugins_in_turn", plugins_in_turn, 20, 300},
    {"moved_out", moved_out, 200},
    {"moved_in", moved_in, 10},
    {"closed_with_leases", closed_with_leases, 16},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
