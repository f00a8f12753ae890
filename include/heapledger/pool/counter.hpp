// A number that one thread at a time changes, or several at once, and that any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapledger::pool_detail {

template <bool Concurrent>
class counter {
 public:
  void add(std::uint64_t amount) noexcept {
    if constexpr (Concurrent) {
      value_.fetch_add(amount, std::memory_order_relaxed);
    } else {
      value_.store(value() + amount, std::memory_order_relaxed);
    }
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }
  operator std::uint64_t() const noexcept { return value(); }

  // How many of `came` have not gone. The ones that went are read first: each of them has come.
  friend std::uint64_t left(const counter& came, const counter& gone) noexcept {
    const std::uint64_t before = gone.value_.load(std::memory_order_acquire);
    return came.value() - before;
  }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace heapledger::pool_detail
