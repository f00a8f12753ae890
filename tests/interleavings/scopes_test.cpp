// The probe's own code for scopes, in every order in which a few threads' steps can happen: entering, booking, freeing
// for others, closing, looking through closed scopes, recycling, reading. What must hold in each: a scope lives as long
// as a thread is in it or a block of it lives, it is recycled once, and its books pass to its parent whole.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

#include "../probe_world.hpp"
#include "explorer.hpp"
#include "probe/account/cells.hpp"
#include "probe/account/errors.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/base/lock.hpp"
#include "probe/hook/process.hpp"
#include "probe/scope/budget.hpp"
#include "probe/scope/slots.hpp"
#include "probe/scope/usage.hpp"

namespace heapledger::probe {

// No leak watch here.
constinit watch_view watching = {0, 0};
void heed_watch() {}

namespace {

constexpr std::size_t bytes = 10;
constexpr std::uint32_t some_slots = 8;
constexpr scope_budget no_budget{{no_limit, no_limit, no_limit}, 0, false};
constexpr std::int64_t limit = 1000;
constexpr scope_budget limited_budget{{limit, no_limit, no_limit}, 0, true};

// Books for each thread of a scenario, made once.
class world {
 public:
  world() {
    begin_probe_world("interleavings");
    for (books*& each : of) {
      each = acquire_books(open_thread_record());
      thread_scopes_of(*each);
    }
    segment.header->threaded = 1;
    for (books* each : of) delta_cell_slow(*each, 1);  // makes its table, as later runs find it
    cells_made_ = segment.header->cell_count;
    string_bytes_made_ = segment.header->string_bytes;
    fewest_to_look_through = 0;  // look at each close
    slots_used = some_slots;
  }

  // As if nothing had happened.
  void begin() {
    reset_scopes();
    // What would grow from run to run: to grow takes steps.
    reset_cells();
    for (std::uint32_t i = cells_made_; i < segment.header->cell_count; ++i) segment.cells[i] = {};
    segment.header->cell_count = cells_made_;
    segment.header->string_bytes = string_bytes_made_;
    segment.header->scope_count = segment.header->account_count = 1;
    segment.header->freer_count = 1;
    for (std::size_t i = 0; i < std::size(of); ++i) {
      books& own = *of[i];
      thread_scopes* mine = own.scopes;
      // Accounts are not looked up here, and few slots are used.
      __builtin_memset(static_cast<void*>(mine), 0, offsetof(thread_scopes, known));
      __builtin_memset(static_cast<void*>(mine->freers), 0, sizeof mine->freers);
      __builtin_memset(static_cast<void*>(mine->slots), 0, some_slots * sizeof *mine->slots);
      own.id = own.writer_id;
      own.gated = false;
      own.generation = own.known_generation;
      own.live = own.published = 0;
      own.publish_above = own.publish_below = 0;
      own.peak_mark = INT64_MAX;
      own.forget_recent();
      wire::thread& thread = *own.thread;
      thread.allocations = thread.allocated_bytes = thread.frees = thread.freed_bytes = 0;
      for (std::uint32_t d = 0; d < own.delta_count; ++d) own.deltas[d] = {};
      own.evictions = 0;
    }
    for (std::uint32_t i = 0; i < 64; ++i) segment.accounts[i] = {};
    segment.header->peak_bytes = segment.header->live_bytes = 0;
    scope_record* none = record_at(1);
    if (none != nullptr) throw std::runtime_error("scopes were not reset");
    close_scope(open_scope("first", 5, 0, no_budget));  // the next close looks through
  }
  void watch(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) model::watch(i, &of[i]->scopes->current_index, &of[i]->scopes->sequence);
  }

  books* of[3];

 private:
  std::uint32_t cells_made_ = 0, string_bytes_made_ = 0;
};

world& the_world() {
  static world one;
  return one;
}

// One event of a thread.
class event {
 public:
  explicit event(std::size_t thread) : own_(*the_world().of[thread]) {
    model::flush_own();
    take(&own_, &own_);
  }
  ~event() {
    model::flush_own();
    give(&own_, own_.known_generation);
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  books& operator*() const { return own_; }

 private:
  books& own_;
};

scope_handle enter(std::size_t thread, scope_handle to) {
  const event now(thread);
  return switch_scope(*now, to);
}
scope_handle go_back(std::size_t thread, scope_handle to) {
  const event now(thread);
  return switch_back(*now, to);
}
scope_handle current(std::size_t thread) {
  const scope_slot* at = the_world().of[thread]->scopes->current;
  return at == nullptr ? 0 : at->handle;
}
// The block is its account.
std::uint32_t allocate(std::size_t thread) {
  const event now(thread);
  const account_cell place = stackless_account_cell(*now);
  book_allocation(*now, *place.cell, nullptr, bytes);
  return place.account;
}
void give_back(std::size_t thread, std::uint32_t block) {
  const event now(thread);
  const char nowhere = 0;
  book_free(*now, block, &nowhere, bytes);
}
void close(std::size_t thread, scope_handle which) {
  const event now(thread);
  close_scope(which);
}
scope_handle open(std::size_t thread, scope_handle parent) {
  const event now(thread);
  return open_scope("scope", 5, parent, no_budget);
}
bool alive(scope_handle handle) {
  return names(handle, __atomic_load_n(&record_at(index_of(handle))->life, __ATOMIC_RELAXED));
}

// Every order with at most two switches that nothing forces, or HEAPLEDGER_SWITCHES.
void explore(const model::scenario& of, std::uint64_t at_least) {
  const char* more = std::getenv("HEAPLEDGER_SWITCHES");
  const model::exploration found = model::explore(of, more != nullptr ? static_cast<unsigned>(std::atoi(more)) : 2);
  EXPECT_EQ(found.failure, "");
  EXPECT_GE(found.runs, at_least);
  ::testing::Test::RecordProperty("runs", std::to_string(found.runs));
  std::printf("%llu runs\n", static_cast<unsigned long long>(found.runs));
}

struct family {
  scope_handle parent, child, other;
  void begin() {
    the_world().begin();
    parent = open_scope("parent", 6, 0, no_budget);
    child = open_scope("child", 5, parent, no_budget);
    other = open_scope("other", 5, 0, no_budget);
  }
  // All that was closed and has nothing left is gone after two more looks, and its parent has its books.
  void end(std::uint64_t allocations_of_child) {
    for (int i = 0; i < 2; ++i) close_scope(open_scope("last", 4, 0, no_budget));
    scope_usage u{};
    MODEL_EXPECT(!alive(child));
    MODEL_EXPECT(usage_of(parent, false, u));
    MODEL_EXPECT(u.allocations == allocations_of_child && u.frees == allocations_of_child && u.live_bytes == 0);
  }
};

// A thread enters while another closes: it is in the scope, which then lives, or in the parent; or, where the scope was
// gone before, in none.
TEST(interleavings, enter_and_close) {
  family f;
  std::uint64_t in_family = 0;
  explore({.begin =
               [&] {
                 f.begin();
                 the_world().watch(2);
                 in_family = 0;
               },
           .threads = {[&] {
                         enter(0, f.child);
                         const scope_handle at = current(0);
                         MODEL_EXPECT(at == f.child || at == f.parent || (at == 0 && !alive(f.child)));
                         const std::uint32_t block = allocate(0);
                         in_family += at != 0 ? 1 : 0;
                         MODEL_EXPECT(at == 0 || alive(at));
                         enter(0, 0);
                         MODEL_EXPECT(at == 0 || alive(at));
                         give_back(0, block);
                       },
                       [&] {
                         close(1, f.child);
                         close(1, open(1, 0));  // looks again
                       }},
           .end = [&] { f.end(in_family); }},
          1000);
}

// A thread comes back into a closed scope while another looks through: it is in the scope, which then lives, or, where
// the scope was gone before, in none.
TEST(interleavings, back_into_closed) {
  family f;
  std::uint64_t in_family = 0;
  explore({.begin =
               [&] {
                 f.begin();
                 enter(0, f.child);
                 close(0, f.child);
                 the_world().watch(2);
                 in_family = 0;
               },
           .threads = {[&] {
                         enter(0, f.other);
                         go_back(0, f.child);
                         const scope_handle at = current(0);
                         MODEL_EXPECT(at == f.child || (at == 0 && !alive(f.child)));
                         const std::uint32_t block = allocate(0);
                         in_family += at != 0 ? 1 : 0;
                         MODEL_EXPECT(at == 0 || alive(at));
                         enter(0, 0);
                         give_back(0, block);
                       },
                       [&] {
                         close(1, open(1, 0));
                         close(1, open(1, 0));
                       }},
           .end = [&] { f.end(in_family); }},
          1000);
}

// The last block is freed in another thread while a third looks through and takes the record for a new scope.
TEST(interleavings, free_and_recycle) {
  family f;
  std::uint32_t block = 0;
  scope_handle fresh = 0;
  explore({.begin =
               [&] {
                 f.begin();
                 enter(0, f.child);
                 block = allocate(0);
                 enter(0, 0);
                 close(0, f.child);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(0, f.other);
                         give_back(0, block);
                         enter(0, 0);
                       },
                       [&] {
                         close(1, open(1, 0));
                         fresh = open(1, 0);
                         enter(1, fresh);
                         MODEL_EXPECT(current(1) == fresh);
                         const std::uint32_t mine = allocate(1);
                         scope_usage u{};
                         MODEL_EXPECT(usage_of(fresh, true, u) && u.live_bytes == bytes && u.frees == 0);
                         give_back(1, mine);
                         enter(1, 0);
                       }},
           .end =
               [&] {
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(fresh, false, u) && u.allocations == 1 && u.frees == 1);
                 MODEL_EXPECT(usage_of(f.other, false, u) && u.allocations == 0 && u.frees == 0);
                 f.end(1);
               }},
          1000);
}

// Two threads work in one scope, one of them closes it; a reader sees what can be.
TEST(interleavings, share_and_read) {
  family f;
  explore({.begin =
               [&] {
                 f.begin();
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(0, f.child);
                         const std::uint32_t block = allocate(0);
                         give_back(0, block);
                         enter(0, 0);
                       },
                       [&] {
                         enter(1, f.child);
                         const bool inside = current(1) == f.child;
                         const std::uint32_t block = allocate(1);
                         close(1, f.child);
                         scope_usage u{};
                         MODEL_EXPECT(!inside || usage_of(f.child, true, u));
                         MODEL_EXPECT(!inside || (u.live_bytes >= static_cast<std::int64_t>(bytes) &&
                                                  u.live_bytes <= 2 * static_cast<std::int64_t>(bytes) &&
                                                  u.allocations <= 2 && u.frees <= 1));
                         enter(1, 0);
                         give_back(1, block);
                       }},
           .end = [&] { f.end(2); }},
          1000);
}

// A thread has too few slots: entering another scope folds the one that it was in, and what it frees of that one goes
// to the scope directly, while a second thread works in it, closes it and looks through.
TEST(interleavings, fold_with_all_slots_taken) {
  family f;
  std::uint32_t block = 0;
  the_world();
  slots_used = 2;
  explore({.begin =
               [&] {
                 f.begin();
                 enter(1, f.child);
                 block = allocate(1);
                 enter(1, 0);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(1, f.other);
                         MODEL_EXPECT(current(1) == f.other);
                         give_back(1, block);
                         enter(1, 0);
                         enter(1, f.parent);
                         give_back(1, allocate(1));
                         enter(1, 0);
                       },
                       [&] {
                         enter(0, f.child);
                         MODEL_EXPECT(current(0) == f.child);
                         const std::uint32_t mine = allocate(0);
                         enter(0, 0);
                         enter(0, f.other);
                         MODEL_EXPECT(current(0) == f.other);
                         close(0, f.child);
                         scope_usage u{};
                         MODEL_EXPECT(usage_of(f.child, true, u) && u.allocations == 2 && u.frees <= 1 &&
                                      u.live_bytes >= static_cast<std::int64_t>(bytes));
                         give_back(0, mine);
                         enter(0, 0);
                         close(0, open(0, 0));
                       }},
           .end =
               [&] {
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(f.other, false, u) && u.allocations == 0 && u.frees == 0);
                 f.end(3);
               }},
          1000);
  slots_used = some_slots;
}

// As the hooks do it: within the thread's leases, or asked for. 0 where it is refused.
std::uint32_t allocate_if_admitted(std::size_t thread, std::size_t size) {
  const event now(thread);
  const bool covered = leases_cover(*now, size);
  if (!covered) {
    settle(*now);
    obstacle met{};
    const admission result = ask(*now, size, {}, met);
    settle_scope(*now);
    if (result != admission::granted) return 0;
  }
  const account_cell place = stackless_account_cell(*now);
  book_allocation(*now, *place.cell, nullptr, size);
  if (!covered) settle_scope(*now);
  return place.account;
}

// Two threads live on leases of one budget: one has more than it uses, the other wants nearly all, and takes it back.
// Together they never have more than the budget, and when all is freed all can be had again.
TEST(interleavings, leases) {
  constexpr std::size_t much = limit - 3 * bytes, some = 100;
  scope_handle limited = 0;
  std::uint32_t first[2];
  std::int64_t held = 0;
  const auto take = [&](std::size_t thread, std::size_t size) {
    const std::uint32_t block = allocate_if_admitted(thread, size);
    if (block != 0) MODEL_EXPECT((held += static_cast<std::int64_t>(size)) <= limit);
    return block;
  };
  const auto drop = [&](std::size_t thread, std::uint32_t block, std::size_t size) {
    if (block == 0) return;
    held -= static_cast<std::int64_t>(size);
    const event now(thread);
    const char nowhere = 0;
    book_free(*now, block, &nowhere, size);
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 limited = open_scope("limited", 7, 0, limited_budget);
                 held = 0;
                 enter(0, limited);
                 for (std::uint32_t& each : first)
                   each = take(0, bytes);  // the second one within the first one's lease
                 the_world().watch(2);
               },
           .threads = {[&] {
                         drop(0, take(0, some), some);  // more than its lease
                         const std::uint32_t a = take(0, bytes), b = take(0, bytes);
                         drop(0, first[0], bytes);
                         const std::uint32_t c = take(0, bytes);
                         for (const std::uint32_t each : {first[1], a, b, c}) drop(0, each, bytes);
                         enter(0, 0);
                       },
                       [&] {
                         enter(1, limited);
                         const std::uint32_t most = take(1, much);
                         const std::uint32_t a = take(1, bytes), b = take(1, bytes);
                         drop(1, most, much);
                         drop(1, a, bytes);
                         drop(1, b, bytes);
                         enter(1, 0);
                       }},
           .end =
               [&] {
                 scope_usage u{};
                 MODEL_EXPECT(held == 0 && usage_of(limited, false, u) && u.live_bytes == 0 && u.peak_bytes <= limit);
                 for (std::size_t thread = 0; thread < 2; ++thread) {
                   enter(thread, limited);
                   const std::uint32_t all = take(thread, limit);
                   MODEL_EXPECT(all != 0 && take(thread, 1) == 0);
                   drop(thread, all, limit);
                 }
                 MODEL_EXPECT(usage_of(limited, false, u) && u.live_bytes == 0);
               }},
          1000);
}

// Two threads want one more block at the same moment, and each has a part of the last one in its lease: one gets it.
TEST(interleavings, the_last_block_in_two_leases) {
  scope_handle limited = 0;
  bool got[2];
  std::int64_t held = 0;
  const auto take = [&](std::size_t thread, std::int64_t size) {
    const bool taken = allocate_if_admitted(thread, static_cast<std::size_t>(size)) != 0;
    held += taken ? size : 0;
    return taken;
  };
  const auto lease_of = [&](std::size_t thread) {
    return the_world().of[thread]->publish_above - the_world().of[thread]->live;
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 limited = open_scope("limited", 7, 0, limited_budget);
                 held = 0;
                 got[0] = got[1] = false;
                 for (std::size_t thread = 0; thread < 3; ++thread) enter(thread, limited);
                 for (std::size_t thread = 0; thread < 2; ++thread) {
                   take(thread, 250);
                   take(thread, lease_of(thread) - static_cast<std::int64_t>(bytes) + 1);
                 }
                 take(2, limit - record_at(index_of(limited))->committed[live]);
                 MODEL_EXPECT(limit - held == 2 * (static_cast<std::int64_t>(bytes) - 1));
                 the_world().watch(2);
               },
           .threads = {[&] { got[0] = take(0, bytes); }, [&] { got[1] = take(1, bytes); }},
           .end = [&] { MODEL_EXPECT(got[0] != got[1] && held <= limit); }},
          100);
}

// A thread with all slots taken frees the last block of a closed scope, which is recycled and used again meanwhile: the
// new scope's budget knows nothing of it.
TEST(interleavings, fold_directly_and_recycle) {
  family f;
  std::uint32_t block = 0;
  scope_handle fresh = 0;
  the_world();
  slots_used = 2;
  explore({.begin =
               [&] {
                 f.begin();
                 enter(1, f.child);
                 block = allocate(1);
                 enter(1, 0);
                 close(1, f.child);
                 fresh = 0;
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(1, f.other);
                         give_back(1, block);
                         enter(1, 0);
                       },
                       [&] {
                         close(0, open(0, 0));
                         const event now(0);
                         fresh = open_scope("fresh", 5, 0, limited_budget);
                       }},
           .end =
               [&] {
                 MODEL_EXPECT(record_at(index_of(fresh))->committed[live] == 0);
                 enter(0, fresh);
                 MODEL_EXPECT(allocate_if_admitted(0, limit + bytes) == 0);
                 enter(0, 0);
               }},
          10);
  slots_used = some_slots;
}

}  // namespace
}  // namespace heapledger::probe
