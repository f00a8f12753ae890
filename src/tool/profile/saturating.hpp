// A sum of numbers that are bounded one by one, of which a hostile profile may have any number.
#pragma once

#include <cstdint>
#include <limits>

namespace heapledger {

inline std::int64_t saturating_sum(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return left < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

}  // namespace heapledger
