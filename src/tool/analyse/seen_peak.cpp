#include "tool/analyse/seen_peak.hpp"

#include <algorithm>

namespace heapledger::analyse {

std::optional<timeline_point> seen_above_peak(const profile& p) {
  if (p.peak.error_bytes == 0 || p.window || p.timeline.empty()) return std::nullopt;
  const auto sum = p.totals().peak_bytes;
  auto seen = *std::max_element(p.timeline.begin(), p.timeline.end(),
                                [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
  if (seen.live_bytes <= sum) return std::nullopt;
  const auto above = static_cast<std::uint64_t>(seen.live_bytes) - static_cast<std::uint64_t>(sum);
  if (above > p.peak.error_bytes) seen.live_bytes = sum + static_cast<std::int64_t>(p.peak.error_bytes);
  return seen;
}

std::int64_t known_peak_bytes(const profile& p) {
  const auto seen = seen_above_peak(p);
  return seen ? seen->live_bytes : p.totals().peak_bytes;
}

}  // namespace heapledger::analyse
