#include "tool/analyse/lost_stacks.hpp"

#include <algorithm>

namespace heapledger::analyse {

lost_stacks find_lost_stacks(const profile& p) {
  lost_stacks result;
  const auto& losses = p.profiler.losses;
  result.for_want_of_room = losses.contains("segment_full");
  if (p.process.stacks == "off" || (!losses.contains("accounts_full") && !losses.contains("nodes_full"))) return result;
  for (const auto& stack : p.stacks)
    if (stack.node == 0) result.count += stack.count;
  return result;
}

lost_share share_of(const lost_stacks& lost, const profile& p) {
  const counters all = p.totals();
  const auto share = [](auto part, auto whole) {
    return whole > 0 ? std::clamp(static_cast<double>(part) / static_cast<double>(whole), 0.0, 1.0) : 0;
  };
  const double of_peak = share(lost.count.peak_bytes, all.peak_bytes);
  const double of_count = share(lost.count.allocations, all.allocations);
  return {std::max(of_peak, of_count), of_peak >= of_count};
}

}  // namespace heapledger::analyse
