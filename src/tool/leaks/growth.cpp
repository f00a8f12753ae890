#include "tool/leaks/growth.hpp"

#include <algorithm>
#include <cmath>

namespace heapledger::leaks {
namespace {

constexpr double surprise = 0.01;
constexpr double deviations = 2;

}  // namespace

growth::growth(double now_s, double window_s, const exact_counts& first)
    : window_s_(window_s), first_s_(now_s), last_s_(now_s), begin_allocations_(first.allocations), now_(first) {
  windows_.push_back({.start_s = now_s,
                      .start_activity = 0,
                      .start_allocations = first.allocations,
                      .start_allocated_bytes = first.allocated_bytes,
                      .least_blocks = first.live_blocks,
                      .least_bytes = first.live_bytes});
}

void growth::observe(double now_s, double activity, const exact_counts& now) {
  if (windows_.size() == 1 && last_activity_ == 0) windows_[0].start_activity = activity;
  if (now_s - windows_.back().start_s >= window_s_) {
    if (windows_.size() == window_limit) merge();
    windows_.push_back({.start_s = now_s,
                        .start_activity = activity,
                        .start_allocations = now.allocations,
                        .start_allocated_bytes = now.allocated_bytes,
                        .least_blocks = now.live_blocks,
                        .least_bytes = now.live_bytes});
  }
  auto& last = windows_.back();
  last.least_blocks = std::min(last.least_blocks, now.live_blocks);
  last.least_bytes = std::min(last.least_bytes, now.live_bytes);
  if (now_s > last_s_) lately_per_s_ = static_cast<double>(now.allocations - now_.allocations) / (now_s - last_s_);
  now_ = now;
  last_s_ = now_s;
  last_activity_ = activity;
}

double growth::allocations_per_s() const {
  return std::max(lately_per_s_, static_cast<double>(allocations()) / std::max(observed_s(), 1e-6));
}

void growth::merge() {
  std::vector<window> merged;
  for (std::size_t i = 0; i + 1 < windows_.size(); i += 2) {
    auto both = windows_[i];
    both.least_blocks = std::min(both.least_blocks, windows_[i + 1].least_blocks);
    both.least_bytes = std::min(both.least_bytes, windows_[i + 1].least_bytes);
    merged.push_back(both);
  }
  windows_ = std::move(merged);
  window_s_ *= 2;
}

std::vector<std::int64_t> growth::floors() const {
  std::vector<std::int64_t> result(windows_.size());
  std::int64_t least = INT64_MAX;
  for (std::size_t i = windows_.size(); i-- > 0;) {
    least = std::min(least, windows_[i].least_blocks);
    result[i] = least;
  }
  return result;
}

std::int64_t growth::base_blocks() const {
  return std::max<std::int64_t>(0, floors().front());
}

std::int64_t growth::base_bytes() const {
  std::int64_t least = INT64_MAX;
  for (const auto& each : windows_) least = std::min(least, each.least_bytes);
  return std::max<std::int64_t>(0, least);
}

std::int64_t growth::risen_blocks() const {
  return std::max<std::int64_t>(0, windows_.back().least_blocks - base_blocks());
}

std::int64_t growth::risen_bytes() const {
  return std::max<std::int64_t>(0, windows_.back().least_bytes - base_bytes());
}

double growth::allocations_per_risen() const {
  const auto floor = floors();
  const std::uint64_t half = begin_allocations_ + allocations() / 2;
  std::size_t middle = 0;
  while (middle + 1 < windows_.size() && windows_[middle + 1].start_allocations <= half) ++middle;
  const auto risen_since = [&](std::size_t i) { return static_cast<double>(floor.back() - floor[i]); };
  const double chance = deviations * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, floor.back())));
  const std::size_t from = risen_since(middle) > chance ? middle : 0;
  return static_cast<double>(now_.allocations - windows_[from].start_allocations) / std::max(1.0, risen_since(from));
}

// Seen from its end, a series that only fluctuates has about ln(n) records; a rising one has many.
bool growth::rises() const {
  const auto floor = floors();
  std::size_t rises = 0;
  for (std::size_t i = 1; i < floor.size(); ++i) rises += floor[i] > floor[i - 1] ? 1 : 0;
  return rises >= fewest_rises && static_cast<double>(rises) >= 2 + std::log(static_cast<double>(floor.size()));
}

// Of k rises at a constant rate, each falls into the part before the pause with that part's share of the whole time.
bool growth::has_stopped() const {
  const auto floor = floors();
  std::size_t last_rise = 0;
  double rises = 0;
  for (std::size_t i = 1; i < floor.size(); ++i) {
    if (floor[i] <= floor[i - 1]) continue;
    last_rise = i;
    ++rises;
  }
  if (rises == 0) return true;
  // The rise came somewhere in the window before; the pause begins with the next.
  const bool is_last = last_rise + 1 == windows_.size();
  const double pause_s = is_last ? last_s_ : windows_[last_rise + 1].start_s;
  const double pause_activity = is_last ? last_activity_ : windows_[last_rise + 1].start_activity;
  const auto likely = [&](double begin, double pause, double end) {
    return end > begin ? std::pow((pause - begin) / (end - begin), rises) : 1.0;
  };
  return likely(windows_[0].start_s, pause_s, last_s_) < surprise &&
         likely(windows_[0].start_activity, pause_activity, last_activity_) < surprise;
}

growth::bounds growth::older_than(double age_s) const {
  bounds result;
  std::size_t since = windows_.size() - 1;  // the windows that cover the last age_s
  while (since > 0 && windows_[since].start_s > last_s_ - age_s) --since;
  result.age_s = last_s_ - windows_[since].start_s;
  result.younger_blocks = now_.allocations - windows_[since].start_allocations;
  result.younger_bytes = now_.allocated_bytes - windows_[since].start_allocated_bytes;
  result.most_blocks = now_.live_blocks;
  result.most_bytes = now_.live_bytes;
  for (std::size_t i = since; i < windows_.size(); ++i) {
    result.most_blocks = std::min(result.most_blocks, windows_[i].least_blocks);
    result.most_bytes = std::min(result.most_bytes, windows_[i].least_bytes);
  }
  const auto within = [](std::int64_t value, std::int64_t most) { return std::clamp<std::int64_t>(value, 0, most); };
  result.most_blocks = std::max<std::int64_t>(0, result.most_blocks - base_blocks());
  result.most_bytes = std::max<std::int64_t>(0, result.most_bytes - base_bytes());
  result.least_blocks =
      within(now_.live_blocks - base_blocks() - static_cast<std::int64_t>(result.younger_blocks), result.most_blocks);
  result.least_bytes =
      within(now_.live_bytes - base_bytes() - static_cast<std::int64_t>(result.younger_bytes), result.most_bytes);
  return result;
}

}  // namespace heapledger::leaks
