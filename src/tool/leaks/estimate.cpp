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
  return {value, share_of(value * all.value(), all.value())};
}

// How many of the young live on, at most: those that the sample shows, and twice their chance deviation.
double most_young_alive(const counts& of, const survival& lifetimes, double age_s) {
  const auto observed = static_cast<double>(lifetimes.observed());
  if (observed == 0) return of.younger;
  const double mean = lifetimes.mean_until(age_s);
  return of.younger * std::min(1.0, mean + 2 * std::sqrt(mean / observed) + 2 / observed);
}

amount estimate(const counts& of, const share& lost, const survival& lifetimes, double age_s) {
  const double mean = lifetimes.observed() == 0 ? 1 : lifetimes.mean_until(age_s);
  const double least_old = std::clamp(of.live - most_young_alive(of, lifetimes, age_s), of.least_old, of.most_old);
  const double old = std::clamp(of.live - of.younger * mean, least_old, of.most_old);

  const auto observed = static_cast<double>(lifetimes.observed());
  const double reaching = lifetimes.after(age_s);
  const auto bounds = share_of(reaching * observed, observed);
  amount result;
  result.value = lost.value * (old + of.younger * reaching);
  result.low = lost.interval.low * (least_old + of.younger * bounds.low);
  result.high = lost.interval.high * (of.most_old + of.younger * bounds.high);
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
