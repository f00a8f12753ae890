// The description of a page, in slot i of its segment for page i, and lists of them.
//
// Only the page's arena writes it. A page is the arena's current one, or has free chunks (in a list), or is full (in no
// list, and the next free brings it back), or is empty.
#pragma once

#include <cstdint>

#include "layout.hpp"

namespace heapledger::pool_detail {

struct alignas(slot_bytes) page {
  link* free = nullptr;         // chunks that came back; the current page's are in the arena
  std::uint32_t countdown = 0;  // frees until something has to be done: the page is empty, or no longer full
  std::uint32_t carved = 0;     // chunks that have been made so far, from the start of the page
  bool full = false;
  page* next = nullptr;
  page* previous = nullptr;
};
static_assert(sizeof(page) == slot_bytes);

struct page_list {
  page* first = nullptr;

  void push(page* one) {
    one->previous = nullptr;
    one->next = first;
    if (first != nullptr) first->previous = one;
    first = one;
  }
  void remove(page* one) {
    (one->previous != nullptr ? one->previous->next : first) = one->next;
    if (one->next != nullptr) one->next->previous = one->previous;
  }
  page* pop() {
    page* const one = first;
    if (one != nullptr) remove(one);
    return one;
  }
};

// A chunk's page, and a page's memory.
template <class Layout>
struct page_of {
  HEAPLEDGER_POOL_HOT static page* chunk(const void* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    const std::uintptr_t slot = address / Layout::page_bytes % slots_per_segment;
    return reinterpret_cast<page*>((address & ~(Layout::segment_bytes - 1)) + slot * slot_bytes);
  }
  // The arena that the page is of, or null. Not in the description: other threads read it, and must not wait for the
  // cache line that the owner writes at every free.
  HEAPLEDGER_POOL_HOT static void*& owner_at(std::uintptr_t segment, std::uintptr_t slot) {
    return reinterpret_cast<void**>(segment + slots_per_segment * slot_bytes)[slot];
  }
  HEAPLEDGER_POOL_HOT static void* owner_of_chunk(const void* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return owner_at(address & ~(Layout::segment_bytes - 1), address / Layout::page_bytes % slots_per_segment);
  }
  static void*& owner(const page* one) {
    const auto address = reinterpret_cast<std::uintptr_t>(one);
    return owner_at(address & ~(Layout::segment_bytes - 1), address / slot_bytes % slots_per_segment);
  }
  HEAPLEDGER_POOL_HOT static bool is_descriptions(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) / Layout::page_bytes % slots_per_segment == 0;
  }
  static char* memory(const page* one) {
    const auto address = reinterpret_cast<std::uintptr_t>(one);
    const std::uintptr_t slot = address / slot_bytes % slots_per_segment;
    return reinterpret_cast<char*>((address & ~(Layout::segment_bytes - 1)) + slot * Layout::page_bytes);
  }
};

}  // namespace heapledger::pool_detail
