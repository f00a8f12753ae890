// The addresses in which all slots lie: reserved as one range when the watch first starts, and kept from then on,
// through forks too, so that one comparison tells whether a block is a watched one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/base/attributes.hpp"
#include "wire/watch.hpp"

namespace heapledger::probe {

struct watch_window {
  std::uint64_t base;   // before there is one, an address that no block can have
  std::uint64_t bytes;  // 0: there is none
};
HL_INTERNAL extern watch_window window;

HL_HOT bool is_watched(const void* block) {
  return reinterpret_cast<std::uint64_t>(block) - window.base < window.bytes;
}

inline std::uint32_t slot_of(const void* block) {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uint64_t>(block) - window.base) / wire::watch_slot_bytes);
}

// In front of a watched block stand its usable size and what looks like glibc's size of a large chunk: so it leaves the
// fast paths where large blocks do.
struct slot_header {
  std::uint64_t usable;
  std::uint64_t chunk;
};
static_assert(sizeof(slot_header) == 16);
inline constexpr std::uint64_t slot_chunk = std::uint64_t{1} << 40;
// A pool's chunk: `usable` is the address of the chunk that waits.
inline constexpr std::uint64_t pool_slot_chunk = std::uint64_t{1} << 41;

inline char* address_of(std::uint32_t slot) {
  return reinterpret_cast<char*>(window.base + slot * wire::watch_slot_bytes);
}

inline std::uint64_t watched_usable(const void* block) {
  return static_cast<const slot_header*>(block)[-1].usable;
}

}  // namespace heapledger::probe
