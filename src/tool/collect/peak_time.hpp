// When the peak was, told better than by the probe: that looks at the clock only when it publishes, so the peak is no
// earlier than it says, but may be much later where less was added than is held back.
#pragma once

#include <cstdint>

#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// Moves the peak's time to the first point of the timeline where all of it lived; where none saw all, to the highest
// that lacks no more than is held back. If the very next point is as high as any, the time is better than points are,
// and stays. So does the end, while the peak lives then.
void place_peak(profile& of, std::uint64_t hold_back_bytes);

}  // namespace heapledger::collect
