// The path of a stack: a hash of its return addresses from the root inward. The same for the same stack and, but for
// one chance in 2^64, different for others.
#pragma once

#include <cstdint>

namespace heapledger::probe {

inline constexpr std::uint64_t root_path = 0x243f6a8885a308d3;

inline std::uint64_t path_below(std::uint64_t path, std::uint64_t pc) {
  path = (path ^ pc) * 0x9e3779b97f4a7c15u;
  return path ^ path >> 32;
}

}  // namespace heapledger::probe
