#include "tool/analyse/snapshots.hpp"

#include <algorithm>
#include <vector>

#include "tool/analyse/excerpt.hpp"

namespace heapledger::analyse {
namespace {

std::vector<counters> counters_at(const profile& p, std::uint32_t marker) {
  std::vector<counters> result(p.stacks.size());
  const auto last = p.markers[marker].snapshot;
  for (std::size_t i = 0; last && i <= *last; ++i)
    for (const auto& change : p.snapshots[i].changes) result[change.stack] += change.by;
  return result;
}

// Everything but what the counters are of.
profile frame_of(const profile& p) {
  profile result = without_stacks(p);
  result.process = p.process;
  result.process.lives_timed = false;
  result.profiler = p.profiler;
  result.symbolized = p.symbolized;
  return result;
}

void take_stacks(const profile& p, const std::vector<counters>& counts, profile& to) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == counters{}) continue;
    auto& stack = to.stacks.emplace_back(p.stacks[i]);
    stack.count = counts[i];
    stack.thread = none;  // the threads are not here
  }
}

void take_time(const profile& p, std::int64_t from_ns, std::int64_t to_ns, profile& to) {
  const auto is_in = [&](const auto& moment) { return moment.time_ns >= from_ns && moment.time_ns <= to_ns; };
  std::copy_if(p.timeline.begin(), p.timeline.end(), std::back_inserter(to.timeline), is_in);
  std::copy_if(p.markers.begin(), p.markers.end(), std::back_inserter(to.markers), is_in);
  for (auto& marker : to.markers) marker.snapshot.reset();  // what it numbers is not here
}

marker_info end_of(const profile& p) {
  const auto sums = p.totals();
  return {.name = p.process.ended == ending::running ? "now" : "the end",
          .time_ns = p.process.duration_ns,
          .live_bytes = sums.live_bytes(),
          .live_blocks = sums.live_blocks()};
}

}  // namespace

std::optional<std::uint32_t> find_snapshot(const profile& p, std::string_view name) {
  for (auto i = static_cast<std::uint32_t>(p.markers.size()); i-- > 0;)
    if (p.markers[i].snapshot && p.markers[i].name == name) return i;
  return {};
}

profile profile_at(const profile& p, std::uint32_t marker) {
  const auto& moment = p.markers[marker];
  auto result = frame_of(p);
  result.process.ended = ending::running;
  result.process.exit_code.reset();
  result.process.signal.reset();
  result.process.duration_ns = moment.time_ns;
  result.peak.error_bytes = p.peak.error_bytes;
  if (p.peak.time_ns && *p.peak.time_ns <= moment.time_ns) result.peak.time_ns = p.peak.time_ns;
  take_stacks(p, counters_at(p, marker), result);
  take_time(p, 0, moment.time_ns, result);
  return result;
}

const marker_info* shown_snapshot(const profile& p) {
  if (p.process.ended != ending::running || p.window || p.markers.empty()) return nullptr;
  const marker_info& last = p.markers.back();
  return last.time_ns == p.process.duration_ns ? &last : nullptr;
}

profile profile_between(const profile& p, std::uint32_t since, std::optional<std::uint32_t> until) {
  auto result = frame_of(p);
  std::vector<counters> counts;
  if (until) {
    counts = counters_at(p, *until);
  } else {
    for (const auto& stack : p.stacks) counts.push_back(stack.count);
  }
  const auto before = counters_at(p, since);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = counts[i] - before[i];  // without lives
    counts[i].peak_bytes = 0;
  }
  take_stacks(p, counts, result);
  result.window = window_info{p.markers[since], until ? p.markers[*until] : end_of(p)};
  take_time(p, result.window->since.time_ns, result.window->until.time_ns, result);
  return result;
}

}  // namespace heapledger::analyse
