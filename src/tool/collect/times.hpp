// Times of a segment as a profile has them: whatever the segment says, in the range that a profile's reader accepts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/segment.hpp"

namespace heapledger::collect {

inline std::int64_t as_ns(std::uint64_t value) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 62) - 1;
  return static_cast<std::int64_t>(std::min(value, most));
}

// Since the start of the process, never negative.
inline std::int64_t since_start(const wire::segment_header& header, std::uint64_t monotonic_ns) {
  return monotonic_ns < header.start_monotonic_ns ? 0 : as_ns(monotonic_ns - header.start_monotonic_ns);
}

}  // namespace heapledger::collect
