// The probe's own anonymous memory: from mmap, counted, named in /proc/PID/maps, zeroed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::probe {

// nullptr when the system has none. Thread safe, usable in signal handlers; a lock where the program has limits
// of its own.
void* own_map(std::size_t bytes);
void own_unmap(void* address, std::size_t bytes);

// Small pieces that are never given back, cut from larger maps. Thread safe; with signals blocked.
void* own_piece(std::size_t bytes);
void reset_own_pieces();  // after fork: a thread that is not here may have been cutting one

std::uint64_t own_bytes();

}  // namespace heapledger::probe
