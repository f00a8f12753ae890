#include "tool/collect/scope_timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "tool/collect/books.hpp"
#include "tool/collect/process.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t most_scopes = 20;  // that are kept: those that held most at some moment
constexpr std::int64_t most_bytes = std::int64_t{1} << 58;

bool has_scopes(const segment_file& file) {
  std::uint32_t count = 0;
  return file.read_at(offsetof(wire::segment_header, scope_count), &count, sizeof count) && count > 1;
}

// Of each kind, the outermost above it. A parent stands before its children.
std::vector<std::uint32_t> outermost_of(const std::vector<wire::scope>& kinds) {
  std::vector<std::uint32_t> result(kinds.size());
  for (std::uint32_t kind = 1; kind < kinds.size(); ++kind) {
    const auto parent = kinds[kind].parent;
    result[kind] = parent == 0 || parent >= kind ? kind : result[parent];
  }
  return result;
}

std::vector<std::int64_t> live_by_outermost(const segment_copy& segment) {
  const auto outermost = outermost_of(segment.scopes);
  const auto sums = add_up(segment);
  std::vector<std::int64_t> live(segment.scopes.size());
  for (std::size_t i = 0; i < sums.accounts.size() && i < segment.account_keys.size(); ++i) {
    const auto kind = segment.account_keys[i].scope;
    if (kind == 0 || kind >= outermost.size()) continue;
    auto& sum = live[outermost[kind]];
    sum = std::clamp(sum + sums.accounts[i].live_bytes(), -most_bytes, most_bytes);
  }
  return live;
}

}  // namespace

void scope_timeline::sample(const segment_file& file, std::uint64_t now_ns) {
  if (!pace_.is_due(now_ns) || !has_scopes(file)) return;
  const auto begin_ns = monotonic_ns();
  try {
    if (!copy_) copy_ = std::make_unique<segment_copy>();
    refresh_segment(file, *copy_);
    points_.push_back({now_ns, live_by_outermost(*copy_)});
  } catch (const input_error&) {  // collecting it will say what is wrong
  }
  if (points_.size() == point_limit) {
    for (std::size_t i = 1; i < points_.size() / 2; ++i) points_[i] = std::move(points_[2 * i]);
    points_.resize(points_.size() / 2);
    pace_.thinned(points_.back().time_ns - points_.front().time_ns, points_.size());
  }
  pace_.looked(now_ns, monotonic_ns() - begin_ns);
}

void scope_timeline::add_to(profile& to, std::uint64_t start_ns) const {
  if (points_.empty()) return;
  std::map<std::string, std::int64_t> at_end;
  for (const auto& stack : to.stacks)
    if (!stack.scope.empty()) at_end[stack.scope[0]] += stack.count.live_bytes();
  std::map<std::string, std::size_t> kinds;
  for (std::uint32_t kind = 1; kind < copy_->scopes.size(); ++kind)
    if (copy_->scopes[kind].parent == 0) kinds.emplace(copy_->text(copy_->scopes[kind].name).substr(0, 255), kind);
  std::vector<std::vector<scope_moment>> series;
  for (std::uint32_t i = 0; i < to.scopes.size(); ++i) {
    const auto& path = to.scopes[i].path;
    if (path.size() != 1) continue;
    const auto kind = kinds.find(path[0]);
    auto& moments = series.emplace_back();
    for (const auto& each : points_) {
      if (kind == kinds.end() || each.time_ns < start_ns) continue;
      const auto time_ns = static_cast<std::int64_t>(each.time_ns - start_ns);
      if (time_ns >= to.process.duration_ns) break;
      const bool is_known = kind->second < each.live_bytes.size();
      moments.push_back({i, time_ns, is_known ? each.live_bytes[kind->second] : 0});
    }
    moments.push_back({i, to.process.duration_ns, at_end[path[0]]});
  }
  const auto highest = [](const std::vector<scope_moment>& of) {
    return std::max_element(of.begin(), of.end(),
                            [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; })
        ->live_bytes;
  };
  std::stable_sort(series.begin(), series.end(), [&](const auto& a, const auto& b) { return highest(a) > highest(b); });
  if (series.size() > most_scopes) series.resize(most_scopes);
  for (const auto& moments : series)
    if (auto& scope = to.scopes[moments[0].scope]; scope.opened == 1)  // seen, if only by us
      scope.peak_bytes = std::max(scope.peak_bytes, highest(moments));
  for (const auto& moments : series) to.scope_timeline.insert(to.scope_timeline.end(), moments.begin(), moments.end());
}

}  // namespace heapledger::collect
