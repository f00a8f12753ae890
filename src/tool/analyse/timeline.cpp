#include "tool/analyse/timeline.hpp"

#include <algorithm>

namespace heapledger::analyse {

std::int64_t end_of(std::span<const timeline_point> timeline, std::int64_t duration_ns) {
  for (const auto& point : timeline) duration_ns = std::max(duration_ns, point.time_ns);
  return duration_ns;
}

std::size_t column_at(std::int64_t time_ns, std::int64_t end_ns, std::size_t columns) {
  const double share = static_cast<double>(std::max<std::int64_t>(time_ns, 0)) / static_cast<double>(end_ns);
  return std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
}

std::vector<std::int64_t> live_columns(std::span<const timeline_point> timeline, std::int64_t duration_ns,
                                       std::size_t columns, std::optional<peak_moment> peak) {
  const std::int64_t end_ns = end_of(timeline, duration_ns);
  if (timeline.empty() || columns == 0 || end_ns <= 0) return {};
  std::vector<std::int64_t> highest(columns, -1);
  for (const auto& point : timeline) {
    auto& column = highest[column_at(point.time_ns, end_ns, columns)];
    column = std::max(column, point.live_bytes);
  }
  std::size_t peak_column = columns;  // none
  std::int64_t after_peak = 0;
  if (peak) {
    peak_column = column_at(peak->time_ns, end_ns, columns);
    const auto next = std::find_if(timeline.begin(), timeline.end(),
                                   [&](const timeline_point& point) { return point.time_ns >= peak->time_ns; });
    after_peak = next == timeline.end() ? peak->live_bytes : std::min(peak->live_bytes, next->live_bytes);
  }
  std::int64_t before = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    auto& value = highest[i];
    if (value < 0) value = before;
    before = value;
    if (i != peak_column) continue;
    value = std::max(value, peak->live_bytes);
    before = after_peak;
  }
  return highest;
}

}  // namespace heapledger::analyse
