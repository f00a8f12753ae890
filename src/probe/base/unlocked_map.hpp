// Mappings of ours that are large and nearly empty, in a program that has all its memory locked (mlockall): a new
// mapping is filled at once then. Without access it is not, and so it is unlocked before it has any.
#pragma once

#include <cstdint>

namespace heapledger::probe {

// As mmap, readable and writable; the error as a negative number.
long map_unlocked(std::uint64_t at, std::uint64_t bytes, int flags, int fd);

inline bool is_error(long result) {
  return result < 0 && result > -4096;
}

}  // namespace heapledger::probe
