// What can be told from a block's address: how much of it is usable, and by its tag whose it is.
#pragma once

#include "probe/account/tag.hpp"
#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/process.hpp"
#include "probe/watch/window.hpp"

namespace heapledger::probe {

// What glibc keeps in the word before a block: the size of its chunk, and flags in the lowest three bits.
class glibc_chunk {
 public:
  explicit glibc_chunk(const void* block) : turned_(turn(static_cast<const std::size_t*>(block)[-1])) {}

  // Fewer usable bytes than that, and in a heap: a chunk of its own mapping has no successor whose first word it may
  // use, and has its flag turned to where only a size that no chunk has could come.
  bool small(std::size_t limit) const { return turned_ < (limit + 8) / 4; }
  // Of a chunk in a heap.
  std::size_t usable() const { return turned_ * 4 - 8; }

 private:
  static std::size_t turn(std::size_t word) {
    constexpr std::size_t others_arena = 4, previous_in_use = 1;
    word &= ~(others_arena | previous_in_use);
    return word >> 2 | word << 62;
  }
  std::size_t turned_;
};

// A block that was freed may by now be the rest of glibc's heap. Its tag would be beyond the heap's end, where there is
// nothing to read; that end is the end of a page.
HL_HOT bool begins_page(const std::uint64_t& tag) {
  return (reinterpret_cast<std::uintptr_t>(&tag) & 0xfff) == 0;
}
HL_COLD bool is_beyond_heap(const std::uint64_t& tag, std::size_t usable);
HL_HOT bool is_cut_off(const std::uint64_t& tag, std::size_t usable) {
  return HL_UNLIKELY(begins_page(tag)) && is_beyond_heap(tag, usable);
}

// Of a chunk in a heap. What is usable of one that is a mapping of its own depends on glibc's version.
inline std::size_t glibc_usable_size(std::size_t chunk) {
  return (chunk & ~std::size_t{7}) - 8;
}
inline bool is_mapping(std::size_t chunk) {
  return (chunk & 2) != 0;
}

HL_HOT std::size_t usable_size(void* block) {
  if (HL_LIKELY(next.glibc)) {
    const std::size_t chunk = static_cast<const std::size_t*>(block)[-1];
    if (HL_LIKELY(!is_mapping(chunk))) return glibc_usable_size(chunk);
  }
  return HL_UNLIKELY(is_bootstrap(block) || is_watched(block)) ? ~std::size_t{0} : next.usable_size(block);
}

// Whether a block that was just given for so many bytes has its tag at the end of what is usable: not if it is large,
// nor if its allocator does not know yet. tcmalloc answers 0 of every block until its own constructor has run.
HL_HOT bool takes_tag(std::size_t usable, std::size_t bytes) {
  return HL_LIKELY(usable < large_usable_bytes && usable >= bytes + tag_bytes);
}
// The same of a block that comes back.
HL_HOT bool may_have_tag(std::size_t usable) {
  return HL_LIKELY(usable - tag_bytes < large_usable_bytes - tag_bytes);
}

// Room for a tag, and for what lifetime.hpp keeps before it, except where the block is large with or without it.
HL_HOT std::size_t without_tag(std::size_t bytes) {
  return HL_UNLIKELY(bytes < large_usable_bytes) ? large_usable_bytes : bytes;
}
HL_HOT std::size_t with_tag(std::size_t bytes) {
  return HL_LIKELY(bytes < large_usable_bytes - tag_bytes) ? bytes + state.trailer_bytes : without_tag(bytes);
}

// The same, of what takes nothing but a size. The large ones are asked for elsewhere, so that the fast path has one
// comparison and no choice of values.
using allocation_function = void*(std::size_t);
HL_COLD void* allocate_large(allocation_function* function, std::size_t bytes);
HL_HOT void* allocate_tagged(allocation_function* const& function, std::size_t bytes) {
  if (HL_UNLIKELY(bytes >= large_usable_bytes - tag_bytes)) return allocate_large(function, bytes);
  asm("addq %1, %0" : "+r"(bytes) : "m"(state.trailer_bytes) : "cc");  // one instruction; GCC makes two of it
  return function(bytes);
}

}  // namespace heapledger::probe
