// What a scope used, added up while others work in it, and while scopes below it come and go: of one moment.
#include <gtest/gtest.h>

#include "scopes_family.hpp"

namespace heapledger::probe {
namespace {

// A thread adds up a scope and its parent while another recycles the scope and makes others of the record: what it did
// is the parent's at any moment, once, and whoever comes after it has no part in it.
TEST(interleavings, read_and_recycle) {
  family f;
  explore({.begin =
               [&] {
                 f.begin_with_a_freed_block(0);
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

// A thread adds up a scope while another makes one below it, uses it, and recycles it: the sum is of one moment.
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

}  // namespace
}  // namespace heapledger::probe
