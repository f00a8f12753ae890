#include "tool/live/sample.hpp"

#include <algorithm>
#include <utility>

namespace heapledger::live {
namespace {

double value_of(const row& row, order by) {
  switch (by) {
    case order::live:
      return static_cast<double>(row.count.live_bytes());
    case order::growth:
      return row.rate.live_bytes;
    case order::churn:
      return row.rate.allocations;
    case order::peak:
      return static_cast<double>(row.count.peak_bytes);
    case order::leaks:  // by verdict, then by bytes
      return !row.leak ? 0 : 1e18 * (1 + static_cast<int>(row.leak->says)) + static_cast<double>(row.leak->bytes);
  }
  return 0;
}

}  // namespace

std::vector<std::uint32_t> ranked(const std::vector<row>& rows, order by, std::size_t top) {
  // Rows that do not move, and so have no place in an order by rate, come by live bytes.
  std::vector<std::pair<double, double>> keys;
  std::vector<std::uint32_t> indices;
  keys.reserve(rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    keys.emplace_back(value_of(rows[i], by), value_of(rows[i], order::live));
    if (keys[i] != std::pair{0.0, 0.0} || rows[i].pool.open != 0) indices.push_back(i);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : rows[a].id < rows[b].id;
  };
  const std::size_t count = std::min(top, indices.size());
  std::partial_sort(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count), indices.end(), before);
  indices.resize(count);
  return indices;
}

}  // namespace heapledger::live
