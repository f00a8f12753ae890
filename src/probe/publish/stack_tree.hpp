// The tree of all stacks: a node is the place of a return address below a parent. Only stacks that have no account yet
// come here (account/account_index.hpp). Nodes and places never move.
//
// A stack is mostly a few frames inside of one that has its nodes: those are appended, without looking whether they are
// there already, and whoever reads the tree takes nodes of one place and parent for one. Other stacks are descended: a
// second index, by paths, knows the nodes that were added so.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/publish/id_index.hpp"
#include "probe/publish/segment.hpp"
#include "probe/publish/stack_path.hpp"
#include "probe/publish/unloaded_nodes.hpp"

namespace heapledger::probe {

// One return address of a stack, and the path of the stack up to there.
struct stack_step {
  std::uint64_t pc;
  std::uint64_t path;
};

class stack_tree {
 public:
  static constexpr std::uint32_t descend_limit = 32;
  static constexpr std::uint32_t few_nodes = 256;

  bool create();
  void reset();  // after fork: the lock may be held by a thread that is not here

  // A node below `parent` for each of `count` (at most descend_limit) return addresses, from outer to inner; the
  // innermost. 0: there is no room, and descend() copes with that. Takes no lock unless a place is new.
  std::uint32_t append(std::uint32_t parent, const std::uint64_t* pcs, std::uint32_t count);
  // What append will look for.
  void prefetch(std::uint64_t pc) const;

  // The nodes of `count` (at most descend_limit) steps, each below the one before and the first below `parent`; added
  // if need be. When the tree is full: the last node there is. Signals are blocked by the caller.
  HL_COLD void descend(std::uint32_t parent, const stack_step* steps, std::uint32_t* nodes, std::uint32_t count);
  // Places from `first` on in [start, end) stay what they were; the same addresses will be other places.
  void retire(std::uint64_t start, std::uint64_t end, std::uint32_t first);
  // Places from `first` on of a module are what they were: it has come back.
  void restore(std::uint32_t module, std::uint32_t first);
  // After all of that, of which no node below `first` can be: nodes in what is gone are not found again. They have the
  // paths of what comes in their place, and would stand in its way, more of them each time that a library is loaded
  // anew; a few may.
  void follow_code(std::uint32_t first);
  // As of the last follow_code(): whether the node or one outside it is in code that is gone.
  bool is_unloaded(std::uint32_t node) const { return unloaded_.of(node); }

 private:
  std::uint32_t find_place(std::uint64_t pc) const;
  std::uint32_t add_place(std::uint64_t pc, std::uint64_t module);
  bool put_place(std::uint32_t place);
  // Those that are 0. False: there is no room for all. Signals are blocked by the caller.
  HL_COLD bool add_places(std::uint32_t* places, const std::uint64_t* pcs, std::uint32_t count);
  std::uint32_t find_node(std::uint64_t path, std::uint32_t parent, std::uint32_t place) const;
  std::uint32_t add_node(std::uint64_t path, std::uint32_t parent, std::uint32_t place);

  HL_COLD bool make_room_for_indexed();
  template <class F>
  void for_each_indexed(F f) const {
    for (std::uint32_t i = 0; i < indexed_count_; ++i) f(indexed_[i].path, indexed_[i].node);
  }

  id_index nodes_;  // by their paths: where each node of a stack will be is known before the first is found
  id_index places_;
  // What is in nodes_, few of all nodes, for when that is made anew: to tell their paths from the tree takes all nodes.
  struct indexed_node {
    std::uint64_t path;
    std::uint32_t node;
  };
  indexed_node* indexed_ = nullptr;
  std::uint32_t indexed_count_ = 0;
  std::uint32_t indexed_room_ = 0;
  std::uint32_t cleaned_nodes_ = 0;  // how many there were when those that are gone were forgotten
  unloaded_nodes unloaded_;
  std::uint32_t lock_ = 0;
};

HL_INTERNAL extern stack_tree tree;

}  // namespace heapledger::probe
