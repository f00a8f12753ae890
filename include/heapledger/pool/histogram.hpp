// How often which value: bucket i counts the values whose bit width is i, so from 2^(i-1) to 2^i - 1; bucket 0 counts
// zeros.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "counter.hpp"

namespace heapledger {

template <bool Concurrent>
class log_histogram {
 public:
  static constexpr std::size_t buckets = 65;

  void add(std::uint64_t value) noexcept { counts_[std::bit_width(value)].add(1); }
  std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket]; }
  std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& one : counts_) sum += one;
    return sum;
  }
  // The values of a bucket, both included.
  static constexpr std::uint64_t lowest(std::size_t bucket) {
    return bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
  }
  static constexpr std::uint64_t highest(std::size_t bucket) {
    return bucket == 0 ? 0 : ~std::uint64_t{0} >> (buckets - 1 - bucket);
  }

 private:
  pool_detail::counter<Concurrent> counts_[buckets];
};

}  // namespace heapledger
