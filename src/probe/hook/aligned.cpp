#include "probe/hook/aligned.hpp"

#include "probe/hook/block.hpp"
#include "probe/hook/next.hpp"

namespace heapledger::probe {

constinit thread_local aligned_request requested_alignment = {nullptr, 0};

HL_COLD void* align_again(void* block, std::size_t alignment, std::size_t bytes) {
  if ((alignment & (alignment - 1)) != 0) return block;  // no alignment, no promise
  next.free(block);
  return next.memalign(alignment, with_tag(bytes) + alignment + 8);  // no power of two
}

}  // namespace heapledger::probe
