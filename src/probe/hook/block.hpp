// What can be told from a block's address: how much of it is usable, and by its tag whose it is.
#pragma once

#include "probe/account/tag.hpp"
#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"
#include "probe/watch/window.hpp"

namespace heapledger::probe {

inline std::size_t glibc_chunk(const void* block) {
  return static_cast<const std::size_t*>(block)[-1];
}
// One of these bits is set in a chunk that is large, or has a mapping of its own; the others' usable size is plain.
inline constexpr std::size_t odd_chunk_bits = ~std::size_t{64 * 1024 - 1} | 2;
static_assert(large_usable_bytes == 64 * 1024 - 8);
inline std::size_t plain_usable_size(std::size_t chunk) {
  return (chunk & ~std::size_t{7}) - 8;
}

inline std::size_t glibc_usable_size(const void* block) {
  const std::size_t chunk = glibc_chunk(block);
  const std::size_t mapped =
      (chunk & 2) << 2;  // a chunk of its own mapping has no successor whose first word it may use
  return (chunk & ~std::size_t{7}) - 8 - mapped;
}

HL_HOT std::size_t usable_size(void* block) {
  if (HL_LIKELY(next.glibc)) return glibc_usable_size(block);
  return HL_UNLIKELY(is_bootstrap(block) || is_watched(block)) ? ~std::size_t{0} : next.usable_size(block);
}

// Room for a tag, except where the block is large with or without it.
HL_COLD inline std::size_t without_tag(std::size_t bytes) {
  return bytes < large_usable_bytes ? large_usable_bytes : bytes;
}
HL_HOT std::size_t with_tag(std::size_t bytes) {
  return HL_LIKELY(bytes < large_usable_bytes - tag_bytes) ? bytes + tag_bytes : without_tag(bytes);
}

}  // namespace heapledger::probe
