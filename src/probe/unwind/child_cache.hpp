// A thread's own memory of which node follows which in the stack tree. The tree's index and nodes are megabytes in a
// large program, and a lookup there misses the cache twice; the few thousand steps that a thread takes again and again
// fit here.
#pragma once

#include "probe/base/own_memory.hpp"
#include "probe/publish/stack_tree.hpp"

namespace heapledger::probe {

class child_cache {
 public:
  static constexpr unsigned first_bits = 8, last_bits = 13;
  static constexpr std::size_t initial_bytes() { return sizeof(entry) << first_bits; }

  // `memory` holds initial_bytes() zeroed bytes.
  void init(void* memory) {
    entries_ = static_cast<entry*>(memory);
    bits_ = first_bits;
  }

  HL_HOT std::uint32_t child(std::uint32_t parent, std::uint64_t pc) {
    entry& known = entries_[((pc ^ std::uint64_t{parent} << 20) * 0x9e3779b97f4a7c15u) >> (64 - bits_)];
    if (HL_LIKELY(known.pc == pc && known.parent == parent)) return known.node;
    const std::uint32_t node = tree.child(parent, pc);
    known = {pc, parent, node};
    if (HL_UNLIKELY(++misses_ == misses_to_grow)) grow();
    return node;
  }

  // Code was unloaded: the same addresses will mean other nodes.
  void forget() {
    if (entries_ != nullptr) __builtin_memset(entries_, 0, sizeof(entry) << bits_);
  }

 private:
  struct entry {
    std::uint64_t pc;
    std::uint32_t parent;
    std::uint32_t node;
  };
  static constexpr std::uint32_t misses_to_grow = 4096;

  HL_COLD void grow() {
    misses_ = 0;
    if (bits_ == last_bits) return;
    auto* larger = static_cast<entry*>(own_map(sizeof(entry) << last_bits));
    if (larger == nullptr) return;
    entries_ = larger;  // the first, small one stays part of the thread's memory
    bits_ = last_bits;
  }

  entry* entries_ = nullptr;
  unsigned bits_ = 0;
  std::uint32_t misses_ = 0;
};

}  // namespace heapledger::probe
