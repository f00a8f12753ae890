// Which of many ranges, sorted by their begin and perhaps nested or overlapping, reach an address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapledger::symbols {

class reach_index {
 public:
  template <class Range>
  void build(const std::vector<Range>& sorted) {
    std::uint64_t highest = 0;
    highest_end_.clear();
    highest_end_.reserve(sorted.size());
    for (const auto& each : sorted) highest_end_.push_back(highest = std::max(highest, each.end));
  }

  // Visits ranges from the last that begins at or before the address backward, as long as one may reach it and `visit`
  // returns true. Gives up after 4,096: a file may be made to have that many in one place.
  template <class Range, class Visit>
  void search(const std::vector<Range>& sorted, std::uint64_t address, Visit&& visit) const {
    constexpr std::size_t limit = 4096;
    const auto after = std::upper_bound(sorted.begin(), sorted.end(), address,
                                        [](std::uint64_t value, const Range& range) { return value < range.begin; });
    std::size_t looked_at = 0;
    for (auto i = static_cast<std::size_t>(after - sorted.begin()); i-- > 0 && ++looked_at < limit;) {
      if (highest_end_[i] <= address || !visit(sorted[i])) return;
    }
  }

 private:
  std::vector<std::uint64_t> highest_end_;  // of all ranges up to here
};

}  // namespace heapledger::symbols
