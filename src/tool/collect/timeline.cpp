#include "tool/collect/timeline.hpp"

#include <algorithm>

namespace heapledger::collect {
namespace {

constexpr std::size_t points_a_group = 3;
constexpr std::size_t group_limit = (timeline::point_limit - 2) / points_a_group;  // first and last stand apart

}  // namespace

void timeline::group::add(const timeline_point& point) {
  if (count == 0 || point.live_bytes < least_live.live_bytes) least_live = point;
  if (count == 0 || point.live_bytes > most_live.live_bytes) most_live = point;
  if (count == 0 || point.rss_bytes > most_resident.rss_bytes) most_resident = point;
  ++count;
}

void timeline::group::add(const group& other) {
  const auto total = count + other.count;
  add(other.least_live);
  add(other.most_live);
  add(other.most_resident);
  count = total;
}

void timeline::add(const timeline_point& point) {
  if (!first_) first_ = point;
  last_ = point;
  if (!groups_.empty() && groups_.back().count >= group_size_ && groups_.size() >= group_limit) merge_neighbours();
  if (groups_.empty() || groups_.back().count >= group_size_) groups_.emplace_back();
  groups_.back().add(point);
}

void timeline::merge_neighbours() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (i % 2 == 0) {
      groups_[i / 2] = groups_[i];
    } else {
      groups_[i / 2].add(groups_[i]);
    }
  }
  groups_.resize((groups_.size() + 1) / 2);
  group_size_ *= 2;
}

std::vector<timeline_point> timeline::points() const {
  std::vector<timeline_point> result;
  if (first_) result.push_back(*first_);
  for (const auto& part : groups_) {
    result.push_back(part.least_live);
    result.push_back(part.most_live);
    result.push_back(part.most_resident);
  }
  if (last_) result.push_back(*last_);
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  const auto same_time = [](const auto& a, const auto& b) { return a.time_ns == b.time_ns; };
  result.erase(std::unique(result.begin(), result.end(), same_time), result.end());
  return result;
}

}  // namespace heapledger::collect
