// The nodes of a tree of parents, each with all its descendants behind it; children in the order of their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// Of nodes with a `parent`, 0 being the root; parents before children.
template <class Node>
std::vector<std::uint32_t> depth_first(const std::vector<Node>& nodes) {
  const std::size_t count = nodes.size();
  std::vector<std::uint32_t> first(count, none);
  std::vector<std::uint32_t> next(count, none);
  for (std::size_t i = count; i-- > 1;) {
    next[i] = first[nodes[i].parent];
    first[nodes[i].parent] = static_cast<std::uint32_t>(i);
  }
  std::vector<std::uint32_t> order;
  order.reserve(count);
  std::vector<std::uint32_t> waiting;
  if (count != 0) waiting.push_back(0);
  while (!waiting.empty()) {
    const std::uint32_t node = waiting.back();
    waiting.pop_back();
    order.push_back(node);
    if (next[node] != none) waiting.push_back(next[node]);
    if (first[node] != none) waiting.push_back(first[node]);
  }
  return order;
}

}  // namespace heapledger::analyse
