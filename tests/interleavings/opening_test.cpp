// Scopes are made, entered, held and closed by several threads at once: each is in one list, and gone once.
#include <gtest/gtest.h>

#include "scopes_family.hpp"

namespace heapledger::probe {
namespace {

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

}  // namespace
}  // namespace heapledger::probe
