// For each node of the stack tree a bit: whether it or a node outside it is in code that was unloaded. The caller
// serialises.
#pragma once

#include "probe/base/own_memory.hpp"
#include "probe/publish/nodes.hpp"

namespace heapledger::probe {

class unloaded_nodes {
 public:
  // The segment is another one, and no code of it was unloaded.
  void reset() {
    if (bits_ != nullptr) own_unmap(bits_, bytes_);
    bits_ = nullptr;
  }

  // Places were marked or unmarked of which no node below `first` can be. Parents come before what is in them.
  void follow(std::uint32_t first) {
    if (bits_ == nullptr && !create()) return;
    const std::uint32_t count = __atomic_load_n(&segment.header->node_count, __ATOMIC_RELAXED);
    for (std::uint32_t i = first; i < count; ++i) {
      const wire::node node = read_node(i);
      const bool gone = (segment.places[node.place].where & wire::place_unloaded) != 0 || of(node.parent);
      const unsigned bit = 1u << i % 8;
      bits_[i / 8] = static_cast<std::uint8_t>(gone ? bits_[i / 8] | bit : bits_[i / 8] & ~bit);
    }
  }

  // After follow(). True, too, where there was no memory to know it.
  bool of(std::uint32_t node) const { return bits_ == nullptr || (bits_[node / 8] >> node % 8 & 1) != 0; }

 private:
  bool create() {
    bytes_ = segment.nodes.capacity / 8 + 1;
    bits_ = static_cast<std::uint8_t*>(own_map(bytes_));
    return bits_ != nullptr;
  }

  std::uint8_t* bits_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace heapledger::probe
