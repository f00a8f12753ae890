// A lock for a few instructions: one byte, released by a plain store. Who does not get it soon lets others run.
#pragma once

#include <sched.h>

#include <atomic>

#include "attributes.hpp"

namespace heapledger {

class spin_lock {
 public:
  HEAPLEDGER_POOL_HOT void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  HEAPLEDGER_POOL_HOT void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  HEAPLEDGER_POOL_COLD void wait() noexcept {
    for (int tries = 0;; ++tries) {
      if (!taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire)) return;
      if (tries >= 64) {
        ::sched_yield();
      } else {
        __builtin_ia32_pause();
      }
    }
  }

  std::atomic<bool> taken_ = false;
};

}  // namespace heapledger
