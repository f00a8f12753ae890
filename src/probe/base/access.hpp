// Whether memory can be touched, asked of the kernel: nothing faults, and nothing changes.
#pragma once

#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

// The eight bytes there, which are aligned.
inline bool is_readable(const void* at) {
  constexpr std::uint64_t no_such_way = ~std::uint64_t{0};  // refused, once the set of signals was read
  return sys::call(__NR_rt_sigprocmask, no_such_way, sys::word(at), 0, 8) != -14 /* EFAULT */;
}

// The four bytes there, which are aligned: the kernel adds 0 to them, as an atomic operation of its own.
inline bool is_writable(void* at) {
  constexpr std::uint64_t wake_op = 5 | 128, add_nothing = std::uint64_t{1} << 28;
  std::uint32_t nobody = 0;
  return sys::call(__NR_futex, sys::word(&nobody), wake_op, 0, 0, sys::word(at), add_nothing) >= 0;
}

}  // namespace heapledger::probe
