// The timeline squeezed into a given number of columns: each holds the highest live bytes of its stretch of time, so
// that no peak is lost; a column without a point repeats the one before it. A peak that is known to have been between
// two points is in its column, and the columns from there to the next point are no higher than that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct peak_moment {
  std::int64_t time_ns = 0;
  std::int64_t live_bytes = 0;
};

std::vector<std::int64_t> live_columns(std::span<const timeline_point> timeline, std::int64_t duration_ns,
                                       std::size_t columns, std::optional<peak_moment> peak = {});

// When the last column ends; and the column of a moment, with `end_ns` and `columns` above zero.
std::int64_t end_of(std::span<const timeline_point> timeline, std::int64_t duration_ns);
std::size_t column_at(std::int64_t time_ns, std::int64_t end_ns, std::size_t columns);

}  // namespace heapledger::analyse
