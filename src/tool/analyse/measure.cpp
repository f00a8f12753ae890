#include "tool/analyse/measure.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace heapledger::analyse {

std::optional<measure> parse_measure(std::string_view name) {
  const auto* const found = std::find(std::begin(measure_names), std::end(measure_names), name);
  if (found == std::end(measure_names)) return std::nullopt;
  return static_cast<measure>(found - std::begin(measure_names));
}

std::int64_t value_of(const counters& count, measure by) {
  switch (by) {
    case measure::live:
      return count.live_bytes();
    case measure::peak:
      return count.peak_bytes;
    case measure::allocated:
      return static_cast<std::int64_t>(count.allocated_bytes);
    case measure::count:
      return static_cast<std::int64_t>(count.allocations);
    case measure::temporary:
      return static_cast<std::int64_t>(count.temporaries);
  }
  return 0;
}

std::vector<std::uint32_t> rank_stacks(std::span<const stack_entry> stacks, measure by, std::size_t top) {
  std::vector<std::uint32_t> order(stacks.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t left, std::uint32_t right) {
    const std::int64_t a = value_of(stacks[left].count, by);
    const std::int64_t b = value_of(stacks[right].count, by);
    return a != b ? a > b : stacks[left].id < stacks[right].id;
  };
  if (top == 0 || top >= order.size()) {
    std::sort(order.begin(), order.end(), before);
  } else {
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(), before);
    order.resize(top);
  }
  return order;
}

}  // namespace heapledger::analyse
