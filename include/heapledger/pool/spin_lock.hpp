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
  // Who waits looks seldom: the holder can then take the lock some dozen times in turn, while what it guards stays in
  // the holder's cache. Two threads that did nothing but allocate and free took 640 ns a pair with one pause between
  // two looks, and 50 with eight and more.
  HEAPLEDGER_POOL_COLD void wait() noexcept {
    for (int pauses = 8;;) {
      for (int i = 0; i < pauses; ++i) __builtin_ia32_pause();
      if (!taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire)) return;
      if (pauses < 64) {
        pauses *= 2;
      } else {
        ::sched_yield();
      }
    }
  }

  std::atomic<bool> taken_ = false;
};

}  // namespace heapledger
