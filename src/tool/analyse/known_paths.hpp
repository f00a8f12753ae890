// What the paths to nodes come to, for one stack after the other: what they have in common is walked once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

class known_paths {
 public:
  explicit known_paths(const profile& p) : p_(p), known_(p.nodes.size(), none) {}

  // From `root`, which is 0 outside of scopes, by value = step(value, location) for each location from the outermost
  // inward. A step must come to the same however often it is asked for, and never to `none`.
  template <class Step>
  std::uint32_t follow(std::uint32_t root, std::uint32_t end, Step&& step) {
    pending_.clear();
    std::uint32_t value = root;
    for (std::uint32_t node = end; node != 0; node = p_.nodes[node].parent) {
      if (const std::uint32_t known = known_of(root, node); known != none) {
        value = known;
        break;
      }
      pending_.push_back(node);
    }
    for (auto node = pending_.rbegin(); node != pending_.rend(); ++node) {
      const std::uint32_t where = p_.nodes[*node].location;
      if (where != none) value = step(value, where);
      known_of(root, *node) = value;
    }
    return value;
  }

 private:
  std::uint32_t& known_of(std::uint32_t root, std::uint32_t node) {
    if (root == 0) return known_[node];
    return known_in_scope_.try_emplace(std::uint64_t{root} << 32 | node, none).first->second;
  }

  const profile& p_;
  std::vector<std::uint32_t> known_;                                 // by node, outside of scopes; none: not yet
  std::unordered_map<std::uint64_t, std::uint32_t> known_in_scope_;  // by root and node
  std::vector<std::uint32_t> pending_;
};

}  // namespace heapledger::analyse
