#include "tool/leaks/study.hpp"

#include <algorithm>

#include "tool/leaks/deadline.hpp"
#include "tool/leaks/sampling.hpp"

namespace heapledger::leaks {
namespace {

constexpr double share_that_makes_a_leak = 0.1;
constexpr double samples_for_certainty = 6.9;  // -ln 0.001
constexpr double acquitted_for = 10;           // times what it takes to decide a block

}  // namespace

void study::grew(std::int64_t blocks, double chance) {
  if (is_suspect() && blocks > 0) grown_into_watch_ += chance * static_cast<double>(blocks);
}

void study::ended(double lifetime_s, std::uint32_t times) {
  ended_lifetimes_.add_ended(lifetime_s, times);
  freed_ += times;
}

void study::arrived(std::uint64_t key, const block& watched) {
  living_.insert_or_assign(key, watched);
}

std::optional<double> study::seen(std::uint64_t key, const page_view& page, double now_s) {
  const auto found = living_.find(key);
  if (found == living_.end()) return std::nullopt;
  const auto did = advance(found->second, page, limits_, now_s);
  if (did.gap_s >= 0) ended_gaps_.add_ended(did.gap_s);
  taken_back_ += did.taken_back ? 1 : 0;
  return did.wants_arming ? std::optional(found->second.since_s) : std::nullopt;
}

void study::gone(std::uint64_t key) {
  const auto found = living_.find(key);
  if (found == living_.end()) return;
  taken_back_ += found->second.now == phase::leak ? 1 : 0;
  living_.erase(found);
}

void study::lost_sight(std::uint64_t key) {
  living_.erase(key);
}

survival study::lifetimes(double now_s) const {
  auto all = ended_lifetimes_;
  for (const auto& [key, block] : living_) all.add_unfinished(block.age_s(now_s));
  return all;
}

survival study::gaps(double now_s) const {
  auto all = ended_gaps_;
  for (const auto& [key, block] : living_)
    if (block.now == phase::armed || block.now == phase::leak) all.add_unfinished(now_s - block.since_s);
  return all;
}

bool study::is_lost(const block& watched, double now_s) const {
  const bool untouched = watched.now == phase::armed || watched.now == phase::leak;
  return untouched && now_s - watched.since_s >= limits_.access_s;
}

std::uint64_t study::leaks(double now_s) const {
  return static_cast<std::uint64_t>(
      std::count_if(living_.begin(), living_.end(), [&](const auto& entry) { return is_lost(entry.second, now_s); }));
}

void study::judge(const hunt_options& options, double now_s) {
  if (is_suspect() || !living_.empty()) limits_ = deadlines_for(options, lifetimes(now_s), gaps(now_s));
  if (is_acquitted(now_s)) return;
  if (!is_suspect()) {
    if (!growth_.rises() || growth_.has_stopped()) return;
    suspect_since_s_ = now_s;
    freed_ = 0;
    grown_into_watch_ = 0;
    proven_since_s_ = -1;
    limits_ = deadlines_for(options, lifetimes(now_s), gaps(now_s));
    return;
  }
  acquit(options, now_s);
}

// Growth that the counters know to be a share of all allocations would show in so many times its inverse of samples,
// with a chance of 99.9 %: if they are of the same times as the growth, so those of its blocks that should be among
// them are counted as well. All of them freed, and none old: what grows here is not lost. One of those samples can be
// told from its healthy neighbours only when it is old, so that long is waited after the last of them.
void study::acquit(const hunt_options& options, double now_s) {
  const double needed = samples_for_certainty * growth_.allocations_per_risen();
  const bool enough = static_cast<double>(freed_) >= std::max<double>(options.samples, needed) &&
                      grown_into_watch_ >= samples_for_certainty;
  if (!enough)
    proven_since_s_ = -1;
  else if (proven_since_s_ < 0)
    proven_since_s_ = now_s;
  const bool all_young = std::all_of(living_.begin(), living_.end(), [&](const auto& entry) {
    return entry.second.age_s(now_s) < limits_.suspicious_s;
  });
  if (!all_young && !growth_.has_stopped()) return;
  if (leaks(now_s) != 0) return;
  const bool proven = proven_since_s_ >= 0 && now_s - proven_since_s_ >= limits_.suspicious_s;
  if (!proven && !growth_.has_stopped()) return;
  suspect_since_s_ = -1;
  acquitted_until_s_ = now_s + (proven ? acquitted_for * (limits_.suspicious_s + limits_.access_s) : 0);
}

double study::chance(const hunt_options& options, double free_places, double most_per_s, double now_s) const {
  if (!is_suspect()) return 0;
  const double observed_s = std::max(growth_.observed_s(), 1e-6);
  const auto allocations = static_cast<double>(growth_.allocations());
  const auto risen = static_cast<double>(growth_.risen_blocks());
  const auto live = static_cast<double>(std::max<std::int64_t>(0, growth_.now().live_blocks));
  sampling_need need;
  need.allocations_per_s = allocations / observed_s;
  need.staying_share = allocations > 0 ? std::min(1.0, risen / allocations) : 1;
  need.in_flight = std::max(0.0, live - risen - static_cast<double>(growth_.base_blocks()));
  need.horizon_s = std::max(now_s - suspect_since_s_, limits_.suspicious_s + limits_.access_s);
  const double own_places = static_cast<double>(options.per_stack) - static_cast<double>(living_.size());
  need.free_places = std::min(own_places, free_places);
  need.most_per_s = most_per_s * std::min(1.0, need.allocations_per_s / std::max(growth_.allocations_per_s(), 1e-6));
  return sampling_chance(need);
}

finding study::conclude(double now_s) const {
  finding result;
  const double decided_s = limits_.suspicious_s + limits_.access_s;
  evidence known;
  known.lifetimes = lifetimes(now_s);
  known.old = growth_.older_than(decided_s);
  known.live_blocks = growth_.now().live_blocks - growth_.base_blocks();
  known.live_bytes = growth_.now().live_bytes - growth_.base_bytes();
  std::uint64_t touched = 0;
  double first_birth_s = now_s;
  const auto count = [&](const block& block) {
    first_birth_s = std::min(first_birth_s, block.born_s);
    result.least_bytes = result.most_bytes == 0 ? block.bytes : std::min(result.least_bytes, block.bytes);
    result.most_bytes = std::max(result.most_bytes, block.bytes);
  };
  for (const auto& [key, block] : living_) {
    if (block.first_armed_s < 0 || now_s - block.first_armed_s < limits_.access_s) continue;
    // Armed again after an access, and nothing yet: what it was the last time.
    const bool lost = is_lost(block, now_s);
    known.decided.push_back({static_cast<double>(block.bytes), block.inclusion, lost});
    result.lost_samples += lost ? 1 : 0;
    touched += lost ? 0 : 1;
    if (lost) count(block);
  }
  result.sampled = known.decided.size();
  result.growth_stopped = growth_.has_stopped();
  const auto grown = [](std::int64_t value) {
    const double number = static_cast<double>(std::max<std::int64_t>(0, value));
    return amount{number, 0, number};
  };

  if (result.lost_samples != 0) {
    result.lost = estimate_loss(known);
    const bool most_are_used =
        result.lost.blocks.value <
        share_that_makes_a_leak * static_cast<double>(std::max<std::int64_t>(1, growth_.risen_blocks()));
    result.says = result.growth_stopped || most_are_used ? verdict::retention : verdict::leak;
  } else if (is_suspect() || touched != 0) {
    result.says = touched != 0 ? verdict::retention : verdict::suspect;
    if (result.says == verdict::suspect && result.growth_stopped) result.says = verdict::none;
    if (result.says == verdict::retention && growth_.risen_blocks() == 0) result.says = verdict::none;
    result.lost.bytes = grown(known.live_bytes);
    result.lost.blocks = grown(known.live_blocks);
    for (const auto& [key, block] : living_) count(block);
  }
  if (result.says == verdict::retention) {
    result.lost.bytes = grown(known.live_bytes);
    result.lost.blocks = grown(known.live_blocks);
    if (result.lost_samples == 0)
      for (const auto& [key, block] : living_) count(block);
  }
  result.oldest_s = now_s - first_birth_s;
  const double hours = std::max(growth_.observed_s(), 1e-3) / 3600;
  const auto& bytes = result.lost.bytes;
  result.bytes_per_hour = {bytes.value / hours, bytes.low / hours, bytes.high / hours};
  result.account = 0;
  return result;
}

}  // namespace heapledger::leaks
