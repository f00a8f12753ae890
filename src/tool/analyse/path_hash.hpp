// 128 bits that stand for a sequence of numbers: of a million sequences two share theirs with a chance of 10^-27.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::analyse {

struct path_hash {
  // Not zero, which a zero at the beginning would leave as it is.
  std::uint64_t low = 0x243f6a8885a308d3U;
  std::uint64_t high = 0x13198a2e03707344U;

  void add(std::uint64_t value) {
    low = (low ^ value) * 0x9e3779b97f4a7c15U;
    low ^= low >> 29;
    high = (high + value) * 0xc2b2ae3d27d4eb4fU;
    high ^= high >> 31;
  }
  bool operator==(const path_hash&) const = default;
};

struct hash_of_path {
  std::size_t operator()(const path_hash& path) const { return path.low; }
};

}  // namespace heapledger::analyse
