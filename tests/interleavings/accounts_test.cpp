// Which accounts scopes have for their stacks, in every order of a few threads' steps: what a scope charges is in
// accounts that are bound to it, whichever thread bound them to an earlier scope of the same record.
#include <gtest/gtest.h>

#include "scopes_world.hpp"

namespace heapledger::probe {
namespace {

struct kind {
  scope_handle parent = 0;
  void begin() {
    the_world().begin();
    parent = make("parent");
  }
  scope_handle open_one(std::size_t thread) const { return open(thread, parent); }
  // A scope of the kind, from begin to end, with a block of each stack.
  void use(std::size_t thread, scope_handle scope, std::uint32_t stacks = 1) const {
    enter(thread, scope);
    MODEL_EXPECT(current(thread) == scope);
    std::uint32_t blocks[4];
    for (std::uint32_t i = 0; i < stacks; ++i) blocks[i] = allocate_from(thread, i + 1);
    for (std::uint32_t i = 0; i < stacks; ++i) MODEL_EXPECT(scope_of_account(blocks[i]) == index_of(scope));
    scope_usage u{};
    MODEL_EXPECT(usage_of(scope, true, u) && u.live_bytes == static_cast<std::int64_t>(stacks * bytes) && u.frees == 0);
    for (std::uint32_t i = 0; i < stacks; ++i) give_back(thread, blocks[i]);
    enter(thread, 0);
    close(thread, scope);
  }
  void end(std::uint64_t allocations) const {
    for (int i = 0; i < 2; ++i) close(0, make("last"));
    scope_usage u{};
    MODEL_EXPECT(usage_of(parent, false, u));
    MODEL_EXPECT(u.allocations == allocations && u.frees == allocations && u.live_bytes == 0);
  }
};

// A thread gets back what it bound, while another gives it back and takes the record.
TEST(interleavings, give_back_and_bind) {
  kind k;
  explore({.begin =
               [&] {
                 k.begin();
                 k.use(0, k.open_one(0), 2);
                 the_world().watch(2);
               },
           .threads = {[&] { k.use(0, k.open_one(0), 3); }, [&] { k.use(1, k.open_one(1)); }},
           .end = [&] { k.end(6); }},
          1000);
}

// The same where threads may keep none of their own.
TEST(interleavings, bind_shared_accounts) {
  kind k;
  const std::uint32_t before = most_own_accounts;
  most_own_accounts = 0;
  explore({.begin =
               [&] {
                 k.begin();
                 k.use(0, k.open_one(0), 2);
                 the_world().watch(2);
               },
           .threads = {[&] { k.use(0, k.open_one(0)); }, [&] { k.use(1, k.open_one(1)); }},
           .end = [&] { k.end(4); }},
          1000);
  most_own_accounts = before;
}

// Two threads in one scope have accounts of the same stack each; one frees the other's block last.
TEST(interleavings, bind_in_one_scope) {
  kind k;
  scope_handle scope = 0;
  std::uint32_t blocks[2];
  explore({.begin =
               [&] {
                 k.begin();
                 k.use(0, k.open_one(0));
                 close(0, make("last"));
                 scope = k.open_one(0);
                 the_world().watch(2);
               },
           .threads = {[&] {
                         enter(0, scope);
                         blocks[0] = allocate_from(0, 1);
                         MODEL_EXPECT(scope_of_account(blocks[0]) == index_of(scope));
                         enter(0, 0);
                       },
                       [&] {
                         enter(1, scope);
                         blocks[1] = allocate_from(1, 1);
                         MODEL_EXPECT(scope_of_account(blocks[1]) == index_of(scope));
                         enter(1, 0);
                       }},
           .end =
               [&] {
                 close(0, scope);
                 give_back(0, blocks[1]);
                 give_back(1, blocks[0]);
                 k.end(3);
                 MODEL_EXPECT(!alive(scope));
               }},
          100);
}

}  // namespace
}  // namespace heapledger::probe
