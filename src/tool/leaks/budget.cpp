#include "tool/leaks/budget.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace heapledger::leaks {

double offered_per_s_each(std::span<const double> rates, double most_per_s) {
  std::vector<double> ascending(rates.begin(), rates.end());
  std::sort(ascending.begin(), ascending.end());
  double left = most_per_s;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const double each = left / static_cast<double>(ascending.size() - i);
    if (ascending[i] > each) return each;
    left -= ascending[i];
  }
  return std::numeric_limits<double>::infinity();
}

std::size_t allowance::take(std::size_t wanted, double now_s) {
  const double passed_s = last_s_ < 0 ? 1 : std::max(0.0, now_s - last_s_);
  last_s_ = now_s;
  left_ = std::min(per_s_, left_ + per_s_ * passed_s);
  const auto taken = std::min(wanted, static_cast<std::size_t>(left_));
  left_ -= static_cast<double>(taken);
  return taken;
}

}  // namespace heapledger::leaks
