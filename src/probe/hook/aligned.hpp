// Blocks for which an alignment was asked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/base/attributes.hpp"

namespace heapledger::probe {

// An aligned block from the next allocator, with room for a tag. mimalloc 2.0 gives 512 bytes at alignment 512 from
// pages that are not so aligned; the program may never have asked for just that size, so it must not meet the defect.
HL_COLD void* align_again(void* block, std::size_t alignment, std::size_t bytes);

// Where a block goes to a slot of the leak watch, its address alone would not say what it owes to chance.
struct aligned_request {
  const void* block;
  std::size_t alignment;
};
HL_INTERNAL extern constinit thread_local aligned_request requested_alignment;

// The block of this thread's event for which an alignment was asked, for as long as that event takes. A signal handler
// that asks for one meanwhile leaves what it found.
class aligned_event {
 public:
  explicit aligned_event(std::size_t alignment) : alignment_(alignment), before_(requested_alignment) {}
  ~aligned_event() { requested_alignment = before_; }
  aligned_event(const aligned_event&) = delete;
  aligned_event& operator=(const aligned_event&) = delete;

  // The same block, or another one in its place.
  void* block(void* given, std::size_t bytes) const {
    if (HL_UNLIKELY((reinterpret_cast<std::uintptr_t>(given) & (alignment_ - 1)) != 0))
      given = align_again(given, alignment_, bytes);
    requested_alignment = {given, alignment_};
    return given;
  }

 private:
  const std::size_t alignment_;
  const aligned_request before_;
};

}  // namespace heapledger::probe
