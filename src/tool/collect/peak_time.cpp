#include "tool/collect/peak_time.hpp"

#include <algorithm>

namespace heapledger::collect {

void place_peak(profile& of, std::uint64_t hold_back_bytes) {
  auto& time_ns = of.peak.time_ns;
  const counters total = of.totals();
  if (total.peak_bytes <= 0 || total.live_bytes() >= total.peak_bytes) return;
  const bool is_known = time_ns && *time_ns < of.process.duration_ns;  // else nothing was published that high
  const std::int64_t no_earlier_ns = is_known ? *time_ns : 0;
  const auto next = std::find_if(of.timeline.begin(), of.timeline.end(),
                                 [&](const timeline_point& point) { return point.time_ns >= no_earlier_ns; });
  if (next == of.timeline.end()) return;
  const auto lived_at = [&](const timeline_point& point) {
    return std::clamp<std::int64_t>(point.live_bytes, 0, total.peak_bytes);
  };
  const auto highest = std::max_element(next, of.timeline.end(),
                                        [&](const auto& a, const auto& b) { return lived_at(a) < lived_at(b); });
  if (!is_known) {
    if (lived_at(*highest) > 0) time_ns = highest->time_ns;
    return;
  }
  // With several threads the time is that of the highest sum that was published: a point beneath it is no better.
  const std::uint64_t may_lack = of.peak.error_bytes == 0 ? hold_back_bytes : 0;
  const auto lacks = static_cast<std::uint64_t>(total.peak_bytes - lived_at(*highest));
  if (lived_at(*highest) > lived_at(*next) && lacks <= may_lack) time_ns = highest->time_ns;
}

}  // namespace heapledger::collect
