#include "tool/leaks/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "tool/leaks/share.hpp"

namespace heapledger::leaks {
namespace {

struct counts {
  double least_old = 0;
  double most_old = 0;
  double younger = 0;
  double live = 0;
};

struct share {
  double value = 0;
  share_interval interval;
};

template <class Measure>
share share_lost(const std::vector<sampled_block>& decided, Measure&& measure) {
  effective_size all;
  double lost = 0;
  for (const auto& block : decided) {
    const double weight = measure(block) / block.inclusion;  // Horvitz and Thompson
    all.add(weight);
    lost += block.lost ? weight : 0;
  }
  if (all.sum() <= 0) return {};
  const double value = lost / all.sum();
  return {value, middle_share_of(value * all.value(), all.value())};
}

// How many of the young live on: those that the sample shows, and at least and at most twice their chance deviation
// from that.
struct range {
  double low = 0;
  double high = 0;
};
range young_alive(const counts& of, const survival& lifetimes, double age_s) {
  const auto observed = static_cast<double>(lifetimes.observed());
  if (observed == 0) return {0, of.younger};
  const double mean = lifetimes.mean_until(age_s);
  const double deviation = 2 * std::sqrt(mean / observed) + 2 / observed;
  return {of.younger * std::max(0.0, mean - deviation), of.younger * std::min(1.0, mean + deviation)};
}

amount estimate(const counts& of, const share& lost, const survival& lifetimes, double age_s) {
  const double mean = lifetimes.observed() == 0 ? 1 : lifetimes.mean_until(age_s);
  const auto young = young_alive(of, lifetimes, age_s);
  const double least_old = std::clamp(of.live - young.high, of.least_old, of.most_old);
  const double most_old = std::clamp(of.live - young.low, least_old, of.most_old);
  const double old = std::clamp(of.live - of.younger * mean, least_old, most_old);

  const auto observed = static_cast<double>(lifetimes.observed());
  const double reaching = lifetimes.after(age_s);
  const auto bounds = middle_share_of(reaching * observed, observed);
  // The share that is lost, the old and the young are known independently: that all are wrong in the same direction,
  // each as far as it may, is less likely than any of them alone (the square-and-add method of Zou and Donner).
  const double of_young = of.younger * reaching;
  const amount all{old + of_young, old + of_young - std::hypot(old - least_old, of.younger * (reaching - bounds.low)),
                   old + of_young + std::hypot(most_old - old, of.younger * (bounds.high - reaching))};
  amount result;
  result.value = lost.value * all.value;
  result.low =
      result.value - std::hypot((lost.value - lost.interval.low) * all.value, lost.value * (all.value - all.low));
  result.high =
      result.value + std::hypot((lost.interval.high - lost.value) * all.value, lost.value * (all.high - all.value));
  result.value = std::min(result.value, of.live);
  result.low = std::min(result.low, result.value);
  result.high = std::clamp(result.high, result.value, std::max(result.value, of.live));
  return result;
}

}  // namespace

loss_estimate estimate_loss(const evidence& of) {
  loss_estimate result;
  const auto number = [](auto value) { return static_cast<double>(value); };
  result.blocks =
      estimate({number(of.old.least_blocks), number(of.old.most_blocks), number(of.old.younger_blocks),
                std::max(0.0, number(of.live_blocks))},
               share_lost(of.decided, [](const sampled_block&) { return 1.0; }), of.lifetimes, of.old.age_s);
  result.bytes = estimate({number(of.old.least_bytes), number(of.old.most_bytes), number(of.old.younger_bytes),
                           std::max(0.0, number(of.live_bytes))},
                          share_lost(of.decided, [](const sampled_block& block) { return block.bytes; }), of.lifetimes,
                          of.old.age_s);
  return result;
}

}  // namespace heapledger::leaks
