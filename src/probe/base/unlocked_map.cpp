#include "probe/base/unlocked_map.hpp"

#include <sys/mman.h>

#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

long map_unlocked(std::uint64_t at, std::uint64_t bytes, int flags, int fd) {
  const long map = sys::call(__NR_mmap, at, bytes, PROT_NONE, flags | MAP_NORESERVE, static_cast<std::uint64_t>(fd), 0);
  if (is_error(map)) return map;
  const auto start = static_cast<std::uint64_t>(map);
  sys::call(__NR_munlock, start, bytes);
  if (const long result = sys::call(__NR_mprotect, start, bytes, PROT_READ | PROT_WRITE); result != 0) {
    if ((flags & MAP_FIXED) == 0) sys::call(__NR_munmap, start, bytes);
    return result;
  }
  return map;
}

}  // namespace heapledger::probe
