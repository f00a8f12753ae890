// A part of check() (payload.hpp): a small file can describe paths so long, or so deep a tree below so many stacks,
// that no command comes to an end. What the collector writes stays within these bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tool/profile/profile.hpp"

namespace heapledger::format {

inline constexpr std::size_t max_scope_depth = 64;
// All frames of all stacks. A recursion that fills 8 MiB with frames of 48 bytes and allocates in each has fewer.
inline constexpr std::uint64_t max_stack_frames = std::uint64_t{1} << 34;

void check_depths(const profile& profile);  // after the tree was checked; throws damage

}  // namespace heapledger::format
