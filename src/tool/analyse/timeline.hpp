// The timeline squeezed into a given number of columns: each holds the highest live bytes of its stretch of time, so
// that no peak is lost; a column without a point repeats the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

std::vector<std::int64_t> live_columns(std::span<const timeline_point> timeline, std::int64_t duration_ns,
                                       std::size_t columns);

// When the last column ends; and the column of a moment, with `end_ns` and `columns` above zero.
std::int64_t end_of(std::span<const timeline_point> timeline, std::int64_t duration_ns);
std::size_t column_at(std::int64_t time_ns, std::int64_t end_ns, std::size_t columns);

}  // namespace heapledger::analyse
