// Blocks for which an alignment was asked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/base/attributes.hpp"

namespace heapledger::probe {

// An aligned block from the next allocator, with room for a tag. mimalloc 2.0 gives 512 bytes at alignment 512 from
// pages that are not so aligned; the program may never have asked for just that size, so it must not meet the defect.
HL_COLD void* align_again(void* block, std::size_t alignment, std::size_t bytes);

// The last block of this thread for which an alignment was asked: where a block goes to a slot of the leak watch, its
// address alone would not say what it owes to chance.
struct aligned_request {
  const void* block;
  std::size_t alignment;
};
HL_INTERNAL extern constinit thread_local aligned_request last_aligned;

HL_HOT void* aligned_block(void* block, std::size_t alignment, std::size_t bytes) {
  last_aligned = {block, alignment};
  return HL_LIKELY((reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) == 0)
             ? block
             : align_again(block, alignment, bytes);
}

}  // namespace heapledger::probe
