#include "tool/leaks/survival.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heapledger::leaks {
namespace {

constexpr double lowest_exponent = -20;

template <class Buckets>
std::uint64_t sum(const Buckets& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

std::size_t survival::bucket_of(double seconds) {
  if (!(seconds > 0)) return 0;
  const double position = (std::log2(seconds) - lowest_exponent) * per_octave;
  return static_cast<std::size_t>(std::clamp(position, 0.0, static_cast<double>(buckets - 1)));
}

double survival::end_of(std::size_t bucket) {
  return std::exp2(static_cast<double>(bucket + 1) / per_octave + lowest_exponent);
}

std::uint64_t survival::ended() const {
  return sum(ended_);
}

std::uint64_t survival::observed() const {
  return sum(ended_) + sum(unfinished_);
}

// step(end of the bucket, share alive at its end): bucket by bucket, until it returns false. Those that are cut off in
// a bucket were at risk for half of it.
template <class Step>
void survival::walk(Step&& step) const {
  double at_risk = static_cast<double>(observed());
  double alive = 1;
  for (std::size_t i = 0; i < buckets; ++i) {
    const double exposed = at_risk - static_cast<double>(unfinished_[i]) / 2;
    if (exposed > 0) alive *= 1 - std::min(1.0, static_cast<double>(ended_[i]) / exposed);
    at_risk -= static_cast<double>(ended_[i]) + static_cast<double>(unfinished_[i]);
    if (!step(end_of(i), alive) || at_risk <= 0) return;
  }
}

double survival::after(double seconds) const {
  double result = 1;
  walk([&](double end, double alive) {
    if (end > seconds) return false;
    result = alive;
    return true;
  });
  return result;
}

double survival::mean_until(double seconds) const {
  double area = 0;
  double before_s = 0;
  double before = 1;
  walk([&](double end, double alive) {
    const double until = std::min(end, seconds);
    if (until > before_s) area += (until - before_s) * (before + alive) / 2;
    before_s = std::max(before_s, until);
    before = alive;
    return end < seconds;
  });
  if (before_s < seconds) area += (seconds - before_s) * before;
  return seconds > 0 ? area / seconds : 1;
}

std::optional<double> survival::quantile_of_ending(double q, std::uint64_t fewest) const {
  if (ended() < std::max<std::uint64_t>(fewest, 1)) return {};
  double level = 1;
  walk([&](double, double alive) {
    level = alive;
    return true;
  });
  std::optional<double> result;
  walk([&](double end, double alive) {
    if (alive > level + (1 - level) * (1 - q) + 1e-12) return true;
    result = end;
    return false;
  });
  return result;
}

}  // namespace heapledger::leaks
