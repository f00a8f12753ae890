// A lock for the slow paths. Signals are blocked while it is held: a handler that allocates must never meet a lock
// held by the thread it interrupted, nor leave one behind by longjmp. All but the one by which a sandbox answers a
// system call that it refuses: blocked, it ends the program.
#pragma once

#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

constexpr std::uint64_t blocked_signals = ~(std::uint64_t{1} << (31 /* SIGSYS */ - 1));

struct signals_blocked {
  signals_blocked() {
    sys::call(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, sys::word(&blocked_signals), sys::word(&before_), 8);
  }
  ~signals_blocked() { sys::call(__NR_rt_sigprocmask, 2, sys::word(&before_), 0, 8); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

// For where signals are blocked already. 0 free, 1 held, 2 held and waited for. The word may live in the segment.
inline bool try_lock_word(std::uint32_t& word) {
  std::uint32_t free = 0;
  return __atomic_compare_exchange_n(&word, &free, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
inline void lock_word(std::uint32_t& word) {
  if (try_lock_word(word)) return;
  while (__atomic_exchange_n(&word, 2u, __ATOMIC_ACQUIRE) != 0)
    sys::call(__NR_futex, sys::word(&word), 128 /* FUTEX_WAIT_PRIVATE */, 2);
}
inline void unlock_word(std::uint32_t& word) {
  if (__atomic_exchange_n(&word, 0u, __ATOMIC_RELEASE) == 2)
    sys::call(__NR_futex, sys::word(&word), 129 /* FUTEX_WAKE_PRIVATE */, 1);
}

class inner_lock_guard {
 public:
  explicit inner_lock_guard(std::uint32_t& word) : word_(word) { lock_word(word_); }
  ~inner_lock_guard() { unlock_word(word_); }
  inner_lock_guard(const inner_lock_guard&) = delete;
  inner_lock_guard& operator=(const inner_lock_guard&) = delete;

 private:
  std::uint32_t& word_;
};

class lock_guard {
 public:
  explicit lock_guard(std::uint32_t& word) : inner_(word) {}

 private:
  signals_blocked blocked_;
  inner_lock_guard inner_;
};

}  // namespace heapledger::probe
