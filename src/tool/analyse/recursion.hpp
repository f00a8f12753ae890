// Recursion: a run of 1 to 8 frames that repeats directly is kept once, with the number of its repetitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heapledger::analyse {

inline constexpr std::size_t longest_cycle = 8;

struct folded_frame {
  std::size_t index = 0;    // into the sequence
  std::uint32_t cycle = 0;  // on the last frame of a repeated run: its length; else 0
  std::uint32_t times = 1;  // how often the run stands in the sequence
};

// Frames are equal when their keys are.
std::vector<folded_frame> fold_recursion(std::span<const std::uint64_t> keys);

}  // namespace heapledger::analyse
