#include "tool/analyse/place_timeline.hpp"

#include <algorithm>

namespace heapledger::analyse {
namespace {

constexpr std::size_t fewest_moments = 4;

}  // namespace

place_timeline::place_timeline(const profile& p) : p_(p) {
  for (const auto& moment : p.stack_timeline) times_ns_.push_back(moment.time_ns);
  std::sort(times_ns_.begin(), times_ns_.end());
  times_ns_.erase(std::unique(times_ns_.begin(), times_ns_.end()), times_ns_.end());
  if (times_ns_.size() < fewest_moments) times_ns_.clear();
}

std::vector<std::int64_t> place_timeline::live_bytes(std::span<const std::uint32_t> stacks) const {
  std::vector<std::int64_t> result(times_ns_.size());
  if (times_ns_.empty()) return result;
  const auto& all = p_.stack_timeline;
  for (const std::uint32_t stack : stacks) {
    auto moment = std::lower_bound(all.begin(), all.end(), stack,
                                   [](const stack_moment& row, std::uint32_t wanted) { return row.stack < wanted; });
    for (auto at = times_ns_.begin(); moment != all.end() && moment->stack == stack; ++moment) {
      at = std::lower_bound(at, times_ns_.end(), moment->time_ns);
      result[static_cast<std::size_t>(at - times_ns_.begin())] += moment->live_bytes;
    }
  }
  return result;
}

std::vector<place_line> highest_places(const place_timeline& timeline, const std::vector<site>& sites,
                                       std::size_t most) {
  if (timeline.times_ns().empty()) return {};
  std::vector<std::pair<std::int64_t, place_line>> lines;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    auto live_bytes = timeline.live_bytes(sites[i].stacks);
    const auto highest = *std::max_element(live_bytes.begin(), live_bytes.end());
    if (highest > 0) lines.push_back({highest, {i, std::move(live_bytes)}});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (lines.size() > most) lines.resize(most);
  std::vector<place_line> result;
  for (auto& [highest, line] : lines) result.push_back(std::move(line));
  return result;
}

}  // namespace heapledger::analyse
