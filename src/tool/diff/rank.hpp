// What changed most: stacks by themselves, and places, which are functions with all stacks that allocate in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tool/analyse/measure.hpp"
#include "tool/diff/compare.hpp"

namespace heapledger::diff {

enum class kind { same, grew, shrank, appeared, vanished };

// By one measure: what stayed the same in it is the same, whatever else changed.
kind kind_of(const stack_change& change, analyse::measure by);
inline std::int64_t difference(const counters& before, const counters& after, analyse::measure by) {
  return analyse::value_of(after, by) - analyse::value_of(before, by);
}

// Indices of the stacks with any difference, the largest by `by` first, growth before shrinking.
std::vector<std::uint32_t> rank_changes(const comparison& compared, analyse::measure by);

// The first frame that is not machinery (analyse/machinery.hpp), in either profile.
struct place_change {
  std::optional<std::uint32_t> frame;  // index into comparison::frames; nothing: stacks without frames
  counters before;
  counters after;
  std::vector<std::uint32_t> stacks;  // indices into comparison::stacks, the largest difference first
};

// Those with a difference by `by`, the largest first, growth before shrinking.
std::vector<place_change> rank_places(const comparison& compared, analyse::measure by);

}  // namespace heapledger::diff
