// The probe's own code for scopes, in every order in which a few threads' steps can happen: entering, booking, freeing
// for others, closing, looking through closed scopes, recycling, reading. What must hold in each: a scope lives as long
// as a thread is in it or a block of it lives, it is recycled once, and its books pass to its parent whole.
#include <gtest/gtest.h>

#include "scopes_world.hpp"

namespace heapledger::probe {
namespace {

struct family {
  scope_handle parent, uncle, child, other;
  void begin() {
    the_world().begin();
    parent = make("parent");
    uncle = make("parent");
    child = make("child", parent);
    other = make("other");
  }
  // The child is closed, and a block of it lives.
  std::uint32_t begin_with_a_last_block(std::size_t thread) {
    begin();
    enter(thread, child);
    const std::uint32_t block = allocate(thread);
    enter(thread, 0);
    close(thread, child);
    return block;
  }
  // A scope of the child's kind: it gets the child's record, if that is free.
  scope_handle open_another(std::size_t thread, const scope_budget& budget = no_budget) const {
    return open(thread, uncle, "child", budget);
  }
  // All that was closed and has nothing left is gone after two more looks, and its parent has its books.
  void end(std::uint64_t allocations_of_child) {
    for (int i = 0; i < 2; ++i) close(0, make("last"));
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

// A thread makes a child while its parent is closed, and recycled: it is the parent's, or nobody's.
TEST(interleavings, open_and_close_the_parent) {
  scope_handle parent = 0, child = 0, fresh = 0;
  explore({.begin =
               [&] {
                 the_world().begin();
                 parent = make("parent");
                 fresh = 0;
                 the_world().watch(2);
               },
           .threads = {[&] { child = open(0, parent); },
                       [&] {
                         close(1, parent);
                         close(1, open(1, 0));
                         fresh = open(1, 0, "parent");
                       }},
           .end =
               [&] {
                 close(0, make("last"));
                 const scope_record* above = record_at(index_of(child))->parent;
                 MODEL_EXPECT(above == nullptr || names(parent, load_life(*above)));
                 enter(0, child);
                 give_back(0, allocate(0));
                 enter(0, 0);
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(fresh, false, u) && u.allocations == 0);
                 MODEL_EXPECT(alive(parent) == (above != nullptr));
               }},
          100);
}

// Two threads make children of a kind that is new, while one of them closes its own and adds up what the family did.
TEST(interleavings, open_beside_another) {
  scope_handle parent = 0, children[2];
  const auto use = [&](std::size_t thread) {
    children[thread] = open(thread, parent, "new");
    enter(thread, children[thread]);
    const std::uint32_t block = allocate(thread);
    MODEL_EXPECT(scope_of_account(block) == index_of(children[thread]));
    give_back(thread, block);
    enter(thread, 0);
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 parent = make("parent");
                 the_world().watch(2);
               },
           .threads = {[&] { use(0); },
                       [&] {
                         use(1);
                         close(1, children[1]);
                         scope_usage u{};
                         MODEL_EXPECT(usage_of(parent, false, u) && u.allocations >= 1 && u.allocations <= 2);
                       }},
           .end =
               [&] {
                 const scope_record &left = *record_at(index_of(children[0])),
                                    &gone = *record_at(index_of(children[1]));
                 MODEL_EXPECT(alive(children[0]) && left.kind == gone.kind);
                 MODEL_EXPECT(segment.scopes[left.kind].opened == 2 && segment.scopes[left.kind].closed == 1);
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(parent, false, u) && u.allocations == 2 && u.live_bytes == 0);
                 close(0, children[0]);
                 for (int i = 0; i < 2; ++i) close(0, make("last"));
                 MODEL_EXPECT(!alive(children[0]) && !alive(children[1]));
                 MODEL_EXPECT(usage_of(parent, false, u) && u.allocations == 2 && u.frees == 2);
               }},
          1000);
}

// A thread takes a free record while another takes it and the next one, and puts the first one back.
TEST(interleavings, open_what_is_free_again) {
  scope_handle mine = 0, others[2];
  explore({.begin =
               [&] {
                 the_world().begin();
                 const scope_handle a = make("scope"), b = make("scope");
                 close(0, a);
                 close(0, b);
                 close(0, make("last"));
                 MODEL_EXPECT(!alive(a) && !alive(b));
                 the_world().watch(2);
               },
           .threads = {[&] { mine = open(0, 0); },
                       [&] {
                         others[0] = open(1, 0);
                         others[1] = open(1, 0);
                         close(1, others[0]);
                       }},
           .end =
               [&] {
                 const scope_handle next = make("scope");
                 for (const scope_handle each : {mine, others[1]})
                   MODEL_EXPECT(alive(each) && index_of(each) != index_of(next));
                 MODEL_EXPECT(index_of(mine) != index_of(others[1]));
               }},
          100);
}

// A thread looks at a scope, and holds it, while another closes and recycles it: it is there as long as it is in hand
// or held, or it was gone before.
TEST(interleavings, hold_and_recycle) {
  family f;
  scope_handle fresh = 0;
  explore({.begin =
               [&] {
                 f.begin();
                 fresh = 0;
                 the_world().watch(2);
               },
           .threads = {[&] {
                         const event now(0);
                         {
                           const in_hand scope(*(*now).scopes, f.child);
                           MODEL_EXPECT(!scope || (alive(f.child) && scope->parent == record_at(index_of(f.parent))));
                           MODEL_EXPECT(!scope || alive(f.child));
                         }
                         if (!hold_scope(*now, f.child)) return;
                         MODEL_EXPECT(alive(f.child));
                         release_scope(f.child);
                       },
                       [&] {
                         close(1, f.child);
                         close(1, open(1, 0));
                         fresh = f.open_another(1);
                       }},
           .end =
               [&] {
                 MODEL_EXPECT(record_at(index_of(fresh))->holds == 0);
                 f.end(0);
               }},
          100);
}

// A thread adds up a scope and its parent while another recycles the scope and makes others of the record: what it did
// is the parent's at any moment, once, and whoever comes after it has no part in it.
TEST(interleavings, read_and_recycle) {
  family f;
  explore({.begin =
               [&] {
                 f.begin();
                 enter(0, f.child);
                 give_back(0, allocate(0));
                 enter(0, 0);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         const event now(0);
                         scope_usage u{};
                         MODEL_EXPECT(!usage_of(*now, f.child, false, u) || (u.allocations == 1 && u.frees == 1));
                         MODEL_EXPECT(usage_of(*now, f.parent, false, u) && u.allocations == 1 && u.frees == 1);
                       },
                       [&] {
                         close(1, f.child);
                         close(1, open(1, 0));
                         enter(1, f.open_another(1));
                         give_back(1, allocate(1));
                         close(1, open(1, f.parent));
                         enter(1, 0);
                       }},
           .end = [&] { f.end(1); }},
          1000);
}

// A thread adds up a scope while another makes one below it, uses it, and recycles it: what that did is seen whole or
// not at all.
TEST(interleavings, read_and_fold) {
  scope_handle parent = 0;
  explore({.begin =
               [&] {
                 the_world().begin();
                 parent = make("parent");
                 the_world().watch(2);
               },
           .threads = {[&] {
                         const event now(0);
                         scope_usage u{};
                         MODEL_EXPECT(usage_of(*now, parent, false, u));
                         MODEL_EXPECT(u.allocations <= 1 && u.frees <= u.allocations);
                         MODEL_EXPECT(u.live_bytes == static_cast<std::int64_t>(bytes) * u.live_blocks);
                         MODEL_EXPECT(u.allocated_bytes == bytes * u.allocations);
                       },
                       [&] {
                         const scope_handle child = open(1, parent);
                         enter(1, child);
                         give_back(1, allocate(1));
                         enter(1, 0);
                         close(1, child);
                         close(1, open(1, 0));
                       }},
           .end =
               [&] {
                 for (int i = 0; i < 2; ++i) close(0, make("last"));
                 scope_usage u{};
                 MODEL_EXPECT(usage_of(parent, false, u) && u.allocations == 1 && u.frees == 1);
               }},
          100);
}

// Two threads add up a scope, and the first to do so finds what arrived below it.
TEST(interleavings, read_beside_another) {
  scope_handle parent = 0;
  const auto read = [&](std::size_t thread) {
    const event now(thread);
    scope_usage u{};
    MODEL_EXPECT(usage_of(*now, parent, false, u) && u.allocations == 1);
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 parent = make("parent");
                 enter(0, make("child", parent));
                 allocate(0);
                 enter(0, 0);
                 the_world().watch(2);
               },
           .threads = {[&] { read(0); }, [&] { read(1); }},
           .end = [] {}},
          100);
}

// Two threads close scopes, and each looks through what both closed: none is lost.
TEST(interleavings, close_while_another_looks) {
  scope_handle scopes[4] = {};
  const auto close_two = [&](std::size_t thread) {
    close(thread, scopes[2 * thread]);
    close(thread, scopes[2 * thread + 1]);
  };
  explore({.begin =
               [&] {
                 fewest_to_look_through = 2;
                 the_world().begin();
                 for (scope_handle& each : scopes) each = make("scope");
                 the_world().watch(2);
               },
           .threads = {[&] { close_two(0); }, [&] { close_two(1); }},
           .end =
               [&] {
                 for (int i = 0; i < 8; ++i) close(0, make("last"));
                 for (const scope_handle each : scopes) MODEL_EXPECT(!alive(each));
               }},
          100);
  fewest_to_look_through = 0;
}

// Scopes on which something hangs are recycled while two threads take what is to be destroyed: each once.
TEST(interleavings, destroy_once) {
  int users[2] = {};
  unsigned destroyed[2] = {};
  const auto destroy_remains = [&](std::size_t thread) {
    const event now(thread);
    for (scope_remains left; take_remains(left);) ++destroyed[static_cast<int*>(left.user) - users];
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 for (unsigned i = 0; i < 2; ++i) {
                   destroyed[i] = 0;
                   const scope_attachment what{&users[i], 0, nullptr, [](void*) {}};
                   const scope_handle scope = open_scope(*the_world().of[0], "scope", 5, 0, no_budget, what);
                   close(0, scope);
                 }
                 the_world().watch(2);
               },
           .threads = {[&] { destroy_remains(0); },
                       [&] {
                         close(1, open(1, 0));
                         destroy_remains(1);
                       }},
           .end =
               [&] {
                 destroy_remains(0);
                 MODEL_EXPECT(destroyed[0] == 1 && destroyed[1] == 1);
               }},
          100);
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

// A thread with all slots taken gives up that of a closed scope, which is recycled and used again meanwhile: the new
// one has nothing of it.
TEST(interleavings, give_up_and_recycle) {
  family f;
  scope_handle fresh = 0;
  the_world();
  slots_used = 2;
  explore({.begin =
               [&] {
                 f.begin();
                 enter(0, f.child);
                 give_back(0, allocate(0));
                 enter(0, 0);
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
