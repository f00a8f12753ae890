#include "tool/analyse/timeline.hpp"

#include <algorithm>

namespace heapledger::analyse {

std::vector<std::int64_t> live_columns(std::span<const timeline_point> timeline, std::int64_t duration_ns,
                                       std::size_t columns) {
  std::int64_t end_ns = duration_ns;
  for (const auto& point : timeline) end_ns = std::max(end_ns, point.time_ns);
  if (timeline.empty() || columns == 0 || end_ns <= 0) return {};
  std::vector<std::int64_t> highest(columns, -1);
  for (const auto& point : timeline) {
    const double share = static_cast<double>(std::max<std::int64_t>(point.time_ns, 0)) / static_cast<double>(end_ns);
    const auto column = std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
    highest[column] = std::max(highest[column], point.live_bytes);
  }
  std::int64_t before = 0;
  for (auto& value : highest) {
    if (value < 0) value = before;
    before = value;
  }
  return highest;
}

}  // namespace heapledger::analyse
