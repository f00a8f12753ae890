#include "tool/leaks/share.hpp"

#include <algorithm>
#include <cmath>

namespace heapledger::leaks {
namespace {

// Lentz's evaluation of the continued fraction; good for x < (a + 1) / (a + b + 2).
double continued_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300;
  constexpr double precision = 1e-14;
  const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m < 10'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < precision) break;
  }
  return result;
}

double beta_quantile(double probability, double a, double b) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (beta_distribution(middle, a, b) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double beta_distribution(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (a <= 0) return 1;  // all of it is at 0
  if (b <= 0) return 0;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(x, a, b) / a;
  return 1 - front * continued_fraction(1 - x, b, a) / b;
}

share_interval share_of(double hits, double trials, double confidence) {
  share_interval result;
  if (!(trials > 0)) return result;
  hits = std::clamp(hits, 0.0, trials);
  const double tail = (1 - confidence) / 2;
  if (hits > 0) result.low = beta_quantile(tail, hits, trials - hits + 1);
  if (hits < trials) result.high = beta_quantile(1 - tail, hits + 1, trials - hits);
  return result;
}

share_interval middle_share_of(double hits, double trials, double confidence) {
  share_interval result;
  if (!(trials > 0)) return result;
  hits = std::clamp(hits, 0.0, trials);
  const double tail = (1 - confidence) / 2;
  // The chance of more than was seen, and half of that of just as much, where `share` is true.
  const auto above = [&](double share) {
    return (beta_distribution(share, hits, trials - hits + 1) + beta_distribution(share, hits + 1, trials - hits)) / 2;
  };
  const auto where = [&](double chance) {
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (above(middle) < chance ? low : high) = middle;
    }
    return (low + high) / 2;
  };
  if (hits > 0) result.low = where(tail);
  if (hits < trials) result.high = where(1 - tail);
  return result;
}

}  // namespace heapledger::leaks
