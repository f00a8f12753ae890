// The tree of all stacks: a node is the place of a return address below a parent. Only stacks that have no account yet
// come here (account/account_index.hpp). Nodes and places never move.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/publish/id_index.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

class stack_tree {
 public:
  static constexpr std::uint32_t descend_limit = 32;

  bool create();
  void reset();  // after fork: the lock may be held by a thread that is not here

  // The nodes of `count` (at most descend_limit) return addresses, each below the one before and the first below
  // `parent`; added if need be. When the tree is full: the last node there is. Signals are blocked by the caller.
  HL_COLD void descend(std::uint32_t parent, const std::uint64_t* pcs, std::uint32_t* nodes, std::uint32_t count);

  // Places in [start, end) stay what they were; the same addresses will be other places.
  void retire(std::uint64_t start, std::uint64_t end);

 private:
  std::uint32_t find_place(std::uint64_t pc) const;
  std::uint32_t add_place(std::uint64_t pc, std::uint64_t module);
  std::uint32_t find_node(std::uint32_t parent, std::uint32_t place) const;
  std::uint32_t add_node(std::uint32_t parent, std::uint32_t place);

  id_index nodes_;
  id_index places_;
  std::uint32_t lock_ = 0;
};

HL_INTERNAL extern stack_tree tree;

}  // namespace heapledger::probe
