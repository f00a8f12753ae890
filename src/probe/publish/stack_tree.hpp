// The tree of all stacks: a node is a return address below a parent. Lookups take no lock; nodes are added under one,
// become visible with a release store of their index entry, and never move.
//
// Only stacks that have no account yet come here (account/account_index.hpp).
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

class stack_tree {
 public:
  static constexpr std::uint32_t descend_limit = 32;

  bool create();
  void reset();  // after fork: the lock may be held by a thread that is not here

  // The nodes of `count` (at most descend_limit) return addresses, each below the one before and the first below
  // `parent`; added if need be. When the tree is full: the last node there is.
  void descend(std::uint32_t parent, const std::uint64_t* pcs, std::uint32_t* nodes, std::uint32_t count);

  // Nodes of addresses in [start, end) stay what they were; the same addresses will get new nodes.
  void retire(std::uint64_t start, std::uint64_t end);

 private:
  static constexpr unsigned node_bits = 24;
  static constexpr std::uint32_t node_mask = (1u << node_bits) - 1;
  static constexpr std::uint64_t key_mask = wire::node_address_mask | wire::node_unloaded;
  struct index {
    std::uint32_t* slots;
    std::uint64_t mask;
    unsigned shift;
  };

  static std::uint64_t mix(std::uint32_t parent, std::uint64_t pc) {
    std::uint64_t hash = (pc ^ (std::uint64_t{parent} << 40) ^ parent) * 0x9e3779b97f4a7c15u;
    return (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  }
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash) << node_bits; }
  static void put(const index& in, std::uint64_t hash, std::uint32_t node);
  static std::uint32_t find(const index& in, std::uint32_t parent, std::uint64_t pc);
  std::uint32_t add(std::uint32_t parent, std::uint64_t pc, std::uint64_t module);
  bool grow();

  index* index_ = nullptr;
  std::uint32_t lock_ = 0;
};

extern stack_tree tree;

}  // namespace heapledger::probe
