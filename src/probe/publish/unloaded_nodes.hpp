// For each node of the stack tree a bit: whether it or a node outside it is in code that was unloaded. Parents come
// first.
#pragma once

#include "probe/base/own_memory.hpp"
#include "probe/publish/nodes.hpp"

namespace heapledger::probe {

class unloaded_nodes {
 public:
  unloaded_nodes()
      : count_(__atomic_load_n(&segment.header->node_count, __ATOMIC_RELAXED)),
        bits_(static_cast<std::uint8_t*>(own_map(bytes()))) {
    for (std::uint32_t i = 1; bits_ != nullptr && i < count_; ++i) {
      const wire::node node = read_node(i);
      if ((segment.places[node.place].where & wire::place_unloaded) != 0 || of(node.parent))
        bits_[i / 8] = static_cast<std::uint8_t>(bits_[i / 8] | 1u << i % 8);
    }
  }
  ~unloaded_nodes() {
    if (bits_ != nullptr) own_unmap(bits_, bytes());
  }
  unloaded_nodes(const unloaded_nodes&) = delete;
  unloaded_nodes& operator=(const unloaded_nodes&) = delete;

  explicit operator bool() const { return bits_ != nullptr; }
  bool of(std::uint32_t node) const { return node >= count_ || (bits_[node / 8] >> node % 8 & 1) != 0; }

 private:
  std::size_t bytes() const { return count_ / 8 + 1; }

  std::uint32_t count_;
  std::uint8_t* bits_;
};

}  // namespace heapledger::probe
