// The probe's own code for scopes, with real threads that book events as the hooks do: made for ThreadSanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "../probe_world.hpp"
#include "probe/account/errors.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/hook/process.hpp"
#include "probe/scope/budget.hpp"
#include "probe/scope/records.hpp"
#include "probe/scope/usage.hpp"

// What is meant: readers under a sequence number, that repeat; looks at what other threads do, which are ordered by
// membarrier(2), of which the sanitizer knows nothing; and the process's peak, of which the last word counts.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions() {  // NOLINT: its name
  return "race:read_thread\nrace:open_peak_of\nrace:usage_of_process\nrace:hands\nrace:has_slot\n"
         "race:take_leases_back\nrace:publish_live\n";
}
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {  // NOLINT: its name
  return "history_size=7";  // so that the other stack is known, too
}

namespace heapledger::probe {

// No leak watch here, and no hooks.
constinit watch_view watching = {0, 0};
void heed_watch() {}
void code_came(std::uint64_t) {}

namespace {

constexpr unsigned thread_count = 4;
constexpr scope_budget no_budget{{no_limit, no_limit, no_limit}, 0, false};

struct world {
  world() {
    begin_probe_world("scope_threads");
    for (books*& each : of) {
      each = acquire_books(open_thread_record());
      each->generation = each->known_generation = 1;
    }
  }
  books* of[thread_count];
};

world& the_world() {
  static world one;
  return one;
}

// One thread, and its events.
class actor {
 public:
  explicit actor(unsigned thread) : own_(*the_world().of[thread]) {}

  template <class F>
  auto event(F f) const {
    struct taken {
      books& own;
      explicit taken(books& of) : own(of) { take(&own, &own); }
      ~taken() { give(&own, own.known_generation); }
    } const now(own_);
    return f();
  }
  books& own() const { return own_; }
  scope_handle open(scope_handle parent, const scope_budget& budget = no_budget) const {
    return event([&] { return open_scope(own_, "scope", 5, parent, budget); });
  }
  void close(scope_handle which) const {
    event([&] { close_scope(own_, which); });
  }
  scope_handle current() const { return own_.scopes->current != nullptr ? own_.scopes->current->handle : 0; }
  void enter(scope_handle to) const {
    event([&] { switch_scope(own_, to); });
  }
  // The account, which stands for the block; 0 where it is refused.
  std::uint32_t allocate(std::size_t bytes) const {
    return event([&]() -> std::uint32_t {
      const bool asks = own_.gated && !leases_cover(own_, bytes);
      if (asks) {
        settle(own_);
        obstacle met{};
        const admission result = ask(own_, bytes, {}, {}, met);
        settle_scope(own_);
        if (result != admission::granted) return 0;
      }
      const account_cell place = stackless_account_cell(own_);
      book_allocation(own_, *place.cell, nullptr, bytes);
      if (asks) settle_scope(own_);
      return place.account;
    });
  }
  // From one of some stacks.
  std::uint32_t allocate_from(std::uint32_t stack, std::size_t bytes) const {
    return event([&] {
      const account_cell place = account_cell_of_node(own_, stack + 1, stack + 1);
      book_allocation(own_, *place.cell, nullptr, bytes);
      return place.account;
    });
  }
  void free(std::uint32_t block, std::size_t bytes) const {
    const char nowhere = 0;
    if (block != 0) event([&] { book_free(own_, block, &nowhere, bytes); });
  }
  scope_usage used(scope_handle of, bool alone = false) const {
    scope_usage found{};
    event([&] { usage_of(own_, of, alone, found); });
    return found;
  }

 private:
  books& own_;
};

template <class Work>
void in_threads(Work work) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t) threads.emplace_back([t, &work] { work(t, actor(t)); });
  for (auto& each : threads) each.join();
}

// Scopes that begin and end in threads while others free what they left: each is recycled, and its books are its
// parent's. More at once than a thread has slots.
TEST(scope_threads, come_and_go) {
  const actor outside(0);
  const scope_handle parent = outside.open(0);
  constexpr std::size_t bytes = 20;
  constexpr unsigned rounds = 400, at_once = 300;
  std::array<std::atomic<std::uint32_t>, 16> mail{};
  in_threads([&](unsigned t, const actor& me) {
    std::vector<scope_handle> mine(at_once);
    for (scope_handle& each : mine) each = me.open(parent);
    for (unsigned i = 0; i < rounds; ++i) {
      scope_handle& request = mine[i % at_once];
      me.enter(request);
      const std::uint32_t kept = me.allocate(bytes);
      me.free(mail[(i * 7 + t) % mail.size()].exchange(me.allocate(bytes)), bytes);
      EXPECT_GE(me.used(request, true).live_bytes, static_cast<std::int64_t>(bytes));
      me.free(kept, bytes);
      me.enter(i % 2 == 0 ? parent : 0);
      me.close(request);
      request = me.open(parent);
    }
    me.enter(0);
    for (const scope_handle each : mine) me.close(each);
  });
  for (auto& each : mail) outside.free(each, bytes);
  const scope_usage all = outside.used(parent);
  EXPECT_EQ(all.live_bytes, 0);
  EXPECT_EQ(all.allocations, 2u * rounds * thread_count);
  EXPECT_EQ(all.frees, all.allocations);
  outside.close(parent);
}

// Scopes that begin and end while blocks of others live, from a few stacks, freed by whichever thread: a block's
// account is its scope's as long as it lives. Some accounts are the threads' own, and more than they may keep are not.
TEST(scope_threads, bind_and_give_back) {
  const actor outside(0);
  const scope_handle parent = outside.open(0);
  constexpr std::size_t bytes = 20;
  constexpr unsigned rounds = 20'000, at_once = 6, stacks = 16;
  struct block {
    std::uint32_t account = 0, scope = 0;
  };
  std::atomic<std::uint64_t> allocations{0};
  for (const std::uint32_t own_accounts : {100u, 16384u, 0u}) {
    most_own_accounts = own_accounts;
    std::array<std::atomic<block>, 64> mail{};
    const auto drop = [](const actor& me, const block& of) {
      if (of.account != 0) EXPECT_EQ(scope_of_account(of.account), of.scope);
      me.free(of.account, bytes);
    };
    std::array<std::atomic<scope_handle>, at_once> scopes{};
    in_threads([&](unsigned t, const actor& me) {
      std::minstd_rand random(t + 1);
      for (unsigned i = 0; i < rounds; ++i) {
        std::atomic<scope_handle>& place = scopes[random() % at_once];
        scope_handle scope = place;
        if (scope == 0) me.close(place.exchange(scope = me.open(parent)));
        me.enter(scope);
        const scope_handle in = me.current();  // it may have been closed
        for (auto count = random() % 5; count > 0; --count, allocations += in != 0)
          drop(me, mail[random() % mail.size()].exchange({me.allocate_from(random() % stacks, bytes), index_of(in)}));
        me.enter(0);
        if (random() % 3 == 0) me.close(place.exchange(0));
      }
    });
    for (auto& each : scopes) outside.close(each);
    for (auto& each : mail) drop(outside, each);
  }
  most_own_accounts = 16384;
  const scope_usage all = outside.used(parent);
  EXPECT_EQ(all.live_bytes, 0);
  EXPECT_EQ(all.allocations, allocations);
  EXPECT_EQ(all.frees, allocations);
  outside.close(parent);
  EXPECT_LT(segment.header->account_count, 20'000u);
}

// A scope that is held is there until it is released, while its maker closes it and others.
TEST(scope_threads, held) {
  std::atomic<scope_handle> latest{0};
  std::atomic<bool> ended{false};
  std::atomic<unsigned> holding{0};
  in_threads([&](unsigned t, const actor& me) {
    const auto is_there = [](scope_handle of) { return names(of, load_life(*record_at(index_of(of)))); };
    if (t == 0) {
      for (unsigned i = 0; i < 20'000 || holding == 0; ++i) {
        latest = me.open(0);
        me.close(latest);
      }
      ended = true;
    }
    while (!ended) {
      const scope_handle of = latest;
      if (!me.event([&] { return hold_scope(me.own(), of); })) continue;
      ++holding;
      for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(is_there(of));
      me.event([&] { release_scope(of); });
    }
  });
}

// Scopes that are closed and needed, as those whose blocks leak, take room. The others go on in what is left, and a
// full table is not full for ever.
TEST(scope_threads, what_is_left_of_the_table_is_used_again) {
  const actor me(0);
  std::vector<scope_handle> needed;
  const auto close_one_more = [&] {
    const scope_handle scope = me.open(0);
    if (scope == 0) return false;
    me.event([&] { return hold_scope(me.own(), scope); });
    me.close(scope);
    needed.push_back(scope);
    return true;
  };
  while (needed.size() < record_limit / 2 + 10'000) ASSERT_TRUE(close_one_more());
  unsigned refused = 0;
  for (std::uint32_t i = 0; i < record_limit; ++i) {
    const scope_handle other = me.open(0);
    refused += other == 0;
    me.close(other);
  }
  EXPECT_EQ(refused, 0u);
  while (close_one_more()) {
  }
  EXPECT_GT(needed.size(), record_limit - 10'000);
  for (const scope_handle scope : needed) me.event([&] { release_scope(scope); });
  scope_handle again = 0;
  for (std::uint32_t tries = 0; again == 0 && tries < record_limit / 8; ++tries) again = me.open(0);
  EXPECT_NE(again, 0u);
  me.close(again);
}

// One budget, of which all live on leases and which one wants as a whole now and then.
TEST(scope_threads, leases) {
  constexpr std::int64_t limit = 20'000;
  const actor outside(0);
  const scope_handle limited = outside.open(0, {{limit, no_limit, no_limit}, 0, true});
  std::atomic<std::int64_t> held{0};
  in_threads([&](unsigned t, const actor& me) {
    me.enter(limited);
    for (unsigned i = 0; i < 2000; ++i) {
      const std::size_t bytes = t == 0 && i % 8 == 0 ? limit - 500 : 24;
      std::uint32_t blocks[4];
      for (std::uint32_t& each : blocks) {
        each = me.allocate(bytes);
        if (each != 0) EXPECT_LE(held += static_cast<std::int64_t>(bytes), limit);
      }
      for (const std::uint32_t each : blocks) {
        if (each != 0) held -= static_cast<std::int64_t>(bytes);
        me.free(each, bytes);
      }
    }
    me.enter(0);
  });
  const scope_usage all = outside.used(limited);
  EXPECT_EQ(all.live_bytes, 0);
  EXPECT_LE(all.peak_bytes, limit);
  outside.close(limited);
}

TEST(scope_threads, a_table_without_memory_has_nothing) {
  binding_table table;
  std::uint32_t hand = 0;
  const auto any = [](std::uint32_t) { return true; };
  EXPECT_FALSE(table.has_room());
  EXPECT_EQ(table.some_free(hand), 0u);
  EXPECT_EQ(table.find(1, 1, 1, any), 0u);
  EXPECT_EQ(table.take(1, 1, any), 0u);
}

// A handler that interrupts an event forks: in the child the event goes on, and nothing is known of its accounts.
TEST(scope_threads, an_event_outlives_its_books) {
  const actor me(0);
  books& own = *the_world().of[0];
  constexpr std::uint32_t stacks = 3000;  // its table grows
  for (const std::uint32_t first : {stacks, 1000u}) {
    const scope_handle scope = me.open(0);
    me.enter(scope);
    for (std::uint32_t i = 0; i < first; ++i) me.free(me.allocate_from(i, 1), 1);
    me.enter(0);
    me.close(scope);
    for (int i = 0; i < 200; ++i) me.close(me.open(0));  // it is recycled
    const scope_handle before = me.open(0);
    me.enter(before);
    for (std::uint32_t i = 0; i < 10; ++i) me.free(me.allocate_from(i, 1), 1);
    me.event([&] {
      reset_scopes(false);
      EXPECT_FALSE(hold_scope(own, before));
      release_scope(before);
      close_scope(own, before);
      close_scope(own, open_scope(own, "scope", 5, before, no_budget));
      for (std::uint32_t i = 0; i < 2 * stacks; ++i) account_cell_of_node(own, i + 1, i + 1);
    });
    me.enter(0);
    for (books* each : the_world().of)
      if (each->scopes != nullptr) *each->scopes = {};
    own.forget_recent();
  }
}

}  // namespace
}  // namespace heapledger::probe
