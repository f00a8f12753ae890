// The nodes of all stacks, as they lie in the segment: numbers are handed out without a lock, and a node is written
// once. Between the two it reads as nothing below the root, also to the tool that looks after a kill.
#pragma once

#include "probe/publish/segment.hpp"

namespace heapledger::probe {

// `count` numbers in turn, the first of them: the caller's to write. 0: there is no room. `make_room(n)` commits room
// for n nodes, one thread at a time.
template <class MakeRoom>
std::uint32_t reserve_nodes(std::uint32_t count, MakeRoom make_room) {
  std::uint32_t& total = segment.header->node_count;
  std::uint32_t first = __atomic_load_n(&total, __ATOMIC_RELAXED);
  do {
    if (HL_UNLIKELY(!is_committed(segment.nodes, first + count)) && !make_room(first + count)) return 0;
  } while (!__atomic_compare_exchange_n(&total, &first, first + count, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return first;
}

// Both words at once: whoever goes through all nodes may come by now.
inline void write_node(std::uint32_t number, wire::node node) {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(&segment.nodes[number]), __builtin_bit_cast(std::uint64_t, node),
                   __ATOMIC_RELAXED);
}
inline wire::node read_node(std::uint32_t number) {
  return __builtin_bit_cast(
      wire::node, __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&segment.nodes[number]), __ATOMIC_RELAXED));
}

// Two nodes of the same places, from there to the root.
inline bool same_stack(std::uint32_t a, std::uint32_t b) {
  for (; a != b; a = segment.nodes[a].parent, b = segment.nodes[b].parent)
    if (a == 0 || b == 0 || segment.nodes[a].place != segment.nodes[b].place) return false;
  return true;
}

}  // namespace heapledger::probe
