// The probe's own code for scopes, in every order in which a few threads' steps can happen: entering, booking, freeing
// for others, closing, looking through closed scopes, recycling, reading. What must hold in each: a scope lives as long
// as a thread is in it or a block of it lives, it is recycled once, and its books pass to its parent whole.
#include <gtest/gtest.h>

#include "scopes_family.hpp"

namespace heapledger::probe {
namespace {

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
                 block = f.begin_with_a_last_block(0);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(0, f.other);
                         give_back(0, block);
                         enter(0, 0);
                       },
                       [&] {
                         close(1, open(1, 0));
                         fresh = f.open_another(1);
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

// Who frees the last block has not done with the scope when its books are even: it notes the peak before. What is made
// of the record meanwhile must know nothing of it.
TEST(interleavings, free_and_leave_no_peak) {
  family f;
  std::uint32_t block = 0;
  scope_handle fresh = 0;
  explore({.begin =
               [&] {
                 block = f.begin_with_a_last_block(0);
                 the_world().watch(2);
               },
           .threads = {[&] { give_back(0, block); },
                       [&] {
                         close(1, open(1, 0));
                         fresh = f.open_another(1);
                       }},
           .end =
               [&] {
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(fresh, false, u) && u.peak_bytes == 0 && u.allocations == 0 && u.frees == 0);
                 f.end(1);
               }},
          100);
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

// A thread with all slots taken gives up that of a closed scope, which is recycled and used again meanwhile: the new
// one has nothing of it.
TEST(interleavings, give_up_and_recycle) {
  family f;
  scope_handle fresh = 0;
  the_world();
  slots_used = 2;
  explore({.begin =
               [&] {
                 f.begin_with_a_freed_block(0);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(0, f.other);
                         enter(0, 0);
                       },
                       [&] {
                         close(1, f.child);
                         close(1, open(1, 0));
                         fresh = f.open_another(1);
                       }},
           .end =
               [&] {
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(fresh, false, u) && u.allocations == 0 && u.frees == 0);
                 MODEL_EXPECT(record_at(index_of(fresh))->contributors == 0);
                 f.end(1);
               }},
          100);
  slots_used = some_slots;
}

// The last block of a closed scope is freed, and that is taken back, as when it cannot be made larger: the scope is
// there.
TEST(interleavings, take_back_and_recycle) {
  family f;
  std::uint32_t block = 0;
  explore({.begin =
               [&] {
                 block = f.begin_with_a_last_block(0);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         give_back_in_vain(0, block);
                         scope_usage u{};
                         MODEL_EXPECT(alive(f.child) && usage_of(f.child, true, u) && u.live_bytes == bytes);
                         give_back(0, block);
                       },
                       [&] {
                         close(1, open(1, 0));
                         close(1, open(1, 0));
                       }},
           .end = [&] { f.end(1); }},
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
                 block = f.begin_with_a_last_block(1);
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
                         fresh = f.open_another(0, limited_budget);
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
