// The lock of what needs none.
#pragma once

namespace heapledger::pool_detail {

template <class Purpose>  // two of one type could not both be without size
struct no_lock {
  static constexpr void lock() noexcept {}
  static constexpr void unlock() noexcept {}
};

}  // namespace heapledger::pool_detail
