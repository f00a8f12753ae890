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

void usage::see(double now_s, double processor_s) {
  constexpr double least = 0.1;
  constexpr double shortest_s = 0.2;
  if (last_s_ >= 0) {
    if (now_s - last_s_ < shortest_s) return;
    const double now = (processor_s - last_processor_s_) / (now_s - last_s_);
    processors_ = std::clamp((processors_ + now) / 2, least, 1.0);
  }
  last_s_ = now_s;
  last_processor_s_ = processor_s;
}

std::size_t allowance::take(std::size_t wanted, double per_s, double now_s) {
  const double passed_s = last_s_ < 0 ? 1 : std::max(0.0, now_s - last_s_);
  last_s_ = now_s;
  left_ = std::min(std::max(1.0, per_s), left_ + per_s * passed_s);
  const auto taken = std::min(wanted, static_cast<std::size_t>(left_));
  left_ -= static_cast<double>(taken);
  return taken;
}

}  // namespace heapledger::leaks
