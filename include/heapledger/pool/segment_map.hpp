// Which pool an address belongs to, for any address, without touching it: two loads. Written when a pool takes a
// segment from the system or gives it back; a slot is 4 MiB, the smallest segment.
//
// Relaxed loads are enough: whoever has a pointer into a segment got it from somebody who saw the segment registered.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "attributes.hpp"
#include "layout.hpp"
#include "violation.hpp"

namespace heapledger::pool_detail {

class segment_map {
 public:
  HEAPLEDGER_POOL_HOT static const pool_identity* find(const void* address) {
    const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(address) >> slot_shift;
    if (number >= leaf_slots * root_slots) [[unlikely]]
      return nullptr;
    const leaf* const at = root[number / leaf_slots].load(std::memory_order_relaxed);
    if (at == nullptr) [[unlikely]]
      return nullptr;
    return at->pools[number % leaf_slots].load(std::memory_order_relaxed);
  }

  // False when there is no memory for it. Null takes the range out.
  HEAPLEDGER_POOL_COLD static bool set(const void* start, std::size_t bytes, const pool_identity* pool) {
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(start) >> slot_shift;
    for (std::uintptr_t number = from; number < from + (bytes >> slot_shift); ++number) {
      leaf* const at = leaf_for(number);
      if (at == nullptr) return false;
      at->pools[number % leaf_slots].store(pool, std::memory_order_relaxed);
    }
    return true;
  }

 private:
  static constexpr int slot_shift = 22;
  static constexpr std::uintptr_t leaf_slots = 1u << 12;
  static constexpr std::uintptr_t root_slots = 1u << 13;  // 47 bits of address: all that user space has
  static_assert(std::uintptr_t{1} << slot_shift == slots_per_segment * smallest_page_bytes);

  struct leaf {
    std::atomic<const pool_identity*> pools[leaf_slots];
  };

  static leaf* leaf_for(std::uintptr_t number) {
    if (number >= leaf_slots * root_slots) return nullptr;
    std::atomic<leaf*>& place = root[number / leaf_slots];
    leaf* there = place.load(std::memory_order_acquire);
    if (there != nullptr) return there;
    void* const memory = ::mmap(nullptr, sizeof(leaf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (place.compare_exchange_strong(there, static_cast<leaf*>(memory), std::memory_order_acq_rel)) {
      return static_cast<leaf*>(memory);
    }
    ::munmap(memory, sizeof(leaf));
    return there;
  }

  HEAPLEDGER_POOL_ONE static inline constinit std::atomic<leaf*> root[root_slots]{};
};

}  // namespace heapledger::pool_detail
