#include "tool/leaks/sampling.hpp"

#include <algorithm>

namespace heapledger::leaks {

double sampling_chance(const sampling_need& need) {
  if (need.free_places < 1) return 0;
  double chance = 1;
  const double taken = need.allocations_per_s * need.staying_share * need.horizon_s + need.in_flight;
  if (taken > 0) chance = std::min(chance, need.free_places / 2 / taken);
  if (need.allocations_per_s > 0) chance = std::min(chance, need.most_per_s / need.allocations_per_s);
  return chance;
}

}  // namespace heapledger::leaks
