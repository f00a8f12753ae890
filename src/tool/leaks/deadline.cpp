#include "tool/leaks/deadline.hpp"

#include <algorithm>

namespace heapledger::leaks {
namespace {

constexpr double long_quantile = 0.999;
constexpr double safety = 3;
constexpr std::uint64_t enough_lifetimes = 20;
constexpr std::uint64_t enough_gaps = 3;
constexpr double shortest_s = 0.5;

}  // namespace

deadlines deadlines_for(const hunt_options& options, const survival& lifetimes, const survival& gaps) {
  deadlines result;
  const auto lifetime = lifetimes.quantile_of_ending(long_quantile, enough_lifetimes);
  if (options.suspicious_s)
    result.suspicious_s = std::max(*options.suspicious_s, lifetime.value_or(0));
  else
    result.suspicious_s = lifetime ? std::max(shortest_s, safety * *lifetime) : hunt_options::first_suspicious_s;

  const auto gap = gaps.quantile_of_ending(long_quantile, options.access_s ? 1 : enough_gaps);
  const double least_s = options.access_s.value_or(hunt_options::first_access_s);
  result.access_s = gap ? std::max(least_s, safety * *gap) : least_s;

  result.rest_s = options.rest_s.value_or(std::min(hunt_options::first_rest_s, result.access_s / 4));
  return result;
}

}  // namespace heapledger::leaks
