// The peak of several threads is the highest sum that they published, and each holds some back. What the timeline saw
// at one moment may be more.
#pragma once

#include <cstdint>
#include <optional>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// The highest point of the timeline that is above the sum of the stacks at the peak, no higher than the peak can be;
// nothing where there is none, or where the peak is exact.
std::optional<timeline_point> seen_above_peak(const profile& p);

// The peak as far as it is known: of the stacks, or what was seen.
std::int64_t known_peak_bytes(const profile& p);

}  // namespace heapledger::analyse
