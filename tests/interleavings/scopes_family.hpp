// A parent with a child, and others of their kinds.
#pragma once

#include "scopes_world.hpp"

namespace heapledger::probe {

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
  // A block of the child was freed, by the only thread that has a part in it.
  void begin_with_a_freed_block(std::size_t thread) {
    begin();
    enter(thread, child);
    give_back(thread, allocate(thread));
    enter(thread, 0);
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

}  // namespace heapledger::probe
