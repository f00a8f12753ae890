// A simulated program under the watch: stacks with known ways to allocate, touch and free, and slots as the probe keeps
// them. Time is a number; nothing waits.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <vector>

#include "tool/leaks/hunt.hpp"

namespace heapledger::leaks::testing {

inline constexpr double never = std::numeric_limits<double>::infinity();

struct fate {
  double lives_s = never;  // until it is freed
  double touched_every_s = never;
};

struct population {
  double per_s = 100;
  double from_s = 0;
  double until_s = never;
  std::function<fate(std::mt19937_64&)> fate_of;
  std::function<std::uint64_t(std::mt19937_64&)> bytes_of = [](auto&) { return std::uint64_t{64}; };
  std::size_t at_most = SIZE_MAX;  // a bounded cache: the oldest goes
};

class world {
 public:
  world(const hunt_options& options, std::uint64_t seed) : hunt_(options), random_(seed) {}

  std::uint32_t add(population kind) {
    stacks_.push_back({std::move(kind), {}, {}, 0, 0, {}});
    return static_cast<std::uint32_t>(stacks_.size());
  }

  void run_until(double end_s, double step_s = 0.02) {
    if (now_s_ == 0) look();
    for (; now_s_ < end_s; now_s_ += step_s) {
      for (std::uint32_t i = 0; i < stacks_.size(); ++i) move(stacks_[i], i + 1, step_s);
      look();
    }
  }

  const finding* found(std::uint32_t account) {
    findings_ = hunt_.findings(now_s_);
    for (const auto& finding : findings_)
      if (finding.account == account) return &finding;
    return nullptr;
  }
  verdict says(std::uint32_t account) {
    const auto* finding = found(account);
    return finding == nullptr ? verdict::none : finding->says;
  }
  std::uint64_t offered() const { return offered_; }
  std::uint64_t armed() const { return armed_; }
  double leaked_bytes(std::uint32_t account) const { return stacks_[account - 1].leaked_bytes; }
  leaks::hunt& hunt() { return hunt_; }
  double now_s() const { return now_s_; }
  std::size_t slots() const { return slots_.size(); }

 private:
  struct live_block {
    std::uint64_t bytes;
    std::uint32_t slot;  // 0: not watched
  };
  struct stack {
    population kind;
    std::multimap<double, live_block> ends;  // by the time of their free; never: at the end
    exact_counts counts;
    double due;
    double leaked_bytes;
    rate_change rate;
  };
  struct place {
    std::uint32_t serial;
    std::uint32_t account;
    std::uint64_t bytes;
    double inclusion;
    double born_s;
    double touched_every_s;
    double armed_s;
  };

  void free_first(stack& of, std::uint32_t account) {
    const auto [end_s, block] = *of.ends.begin();
    of.counts.live_blocks -= 1;
    of.counts.live_bytes -= static_cast<std::int64_t>(block.bytes);
    if (block.slot != 0) {
      hunt_.see_ended(account, std::max(0.0, now_s_ - slots_.at(block.slot).born_s), 1);
      slots_.erase(block.slot);
    }
    of.ends.erase(of.ends.begin());
  }

  void move(stack& of, std::uint32_t account, double step_s) {
    while (!of.ends.empty() && of.ends.begin()->first <= now_s_) free_first(of, account);
    if (now_s_ < of.kind.from_s || now_s_ >= of.kind.until_s) return;
    of.due += std::poisson_distribution<int>(of.kind.per_s * step_s)(random_);
    for (; of.due >= 1; of.due -= 1) {
      const auto fate = of.kind.fate_of(random_);
      const auto bytes = of.kind.bytes_of(random_);
      ++of.counts.allocations;
      of.counts.allocated_bytes += bytes;
      ++of.counts.live_blocks;
      of.counts.live_bytes += static_cast<std::int64_t>(bytes);
      if (fate.lives_s == never && fate.touched_every_s == never) of.leaked_bytes += static_cast<double>(bytes);
      std::uint32_t slot = 0;
      offered_ += of.rate.chance > 0 ? 1 : 0;
      if (std::uniform_real_distribution<>()(random_) < of.rate.chance) {
        slot = ++last_slot_;
        slots_[slot] = {1, account, bytes, of.rate.inclusion, now_s_, fate.touched_every_s, -1};
      }
      // In a bounded cache what came first goes first.
      const double end_s = of.kind.at_most == SIZE_MAX ? now_s_ + fate.lives_s : 1e9 + static_cast<double>(++order_);
      of.ends.insert({end_s, {bytes, slot}});
      if (of.ends.size() > of.kind.at_most) free_first(of, account);
    }
  }

  void look() {
    std::vector<account_counts> all;
    for (std::uint32_t i = 0; i < stacks_.size(); ++i) all.push_back({i + 1, stacks_[i].counts});
    hunt_.see_counts(now_s_, all);
    std::vector<slot_view> views;
    for (const auto& [number, at] : slots_) {
      const bool armed = at.armed_s >= 0;
      const bool touched = armed && std::floor((now_s_ - at.born_s) / at.touched_every_s) >
                                        std::floor((at.armed_s - at.born_s) / at.touched_every_s);
      views.push_back({number, at.serial, at.account, at.bytes, at.inclusion, at.born_s, {armed, at.armed_s, touched}});
    }
    hunt_.see_slots(now_s_, views);
    for (const auto& arm : hunt_.take_armings()) {
      slots_.at(arm.slot).armed_s = now_s_;
      ++armed_;
    }
    for (const auto& rate : hunt_.take_rates()) stacks_[rate.account - 1].rate = rate;
  }

  leaks::hunt hunt_;
  std::mt19937_64 random_;
  std::vector<stack> stacks_;
  std::map<std::uint32_t, place> slots_;
  std::vector<finding> findings_;
  std::uint32_t last_slot_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t offered_ = 0;
  std::uint64_t armed_ = 0;
  double now_s_ = 0;
};

inline population leaking(double per_s) {
  return {.per_s = per_s, .fate_of = [](auto&) { return fate{}; }};
}
inline population healthy(double per_s, double mean_s) {
  return {.per_s = per_s, .fate_of = [mean_s](auto& random) {
            return fate{.lives_s = std::exponential_distribution<double>(1 / mean_s)(random)};
          }};
}
inline population mixed(double per_s, double leaked, double mean_s) {
  return {.per_s = per_s, .fate_of = [=](auto& random) {
            if (std::bernoulli_distribution(leaked)(random)) return fate{};
            return fate{.lives_s = std::exponential_distribution<double>(1 / mean_s)(random)};
          }};
}
inline population kept(double per_s, double touched_every_s) {
  return {.per_s = per_s, .fate_of = [=](auto&) { return fate{.touched_every_s = touched_every_s}; }};
}

}  // namespace heapledger::leaks::testing
