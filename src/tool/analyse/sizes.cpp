#include "tool/analyse/sizes.hpp"

#include <algorithm>
#include <array>

namespace heapledger::analyse {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = kib * kib;
constexpr std::array<std::uint64_t, 17> row_starts = {
    0, 1, 8, 16, 32, 64, 128, 256, 512, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib, 16 * mib, 256 * mib};

}  // namespace

std::vector<size_bucket> size_rows(std::span<const size_bucket> buckets) {
  std::vector<size_bucket> rows;
  for (std::size_t i = 0; i < row_starts.size(); ++i) {
    const bool last = i + 1 == row_starts.size();
    rows.push_back({row_starts[i], last ? UINT64_MAX : row_starts[i + 1] - 1, 0});
  }
  for (const size_bucket& bucket : buckets) {
    const auto* const above = std::upper_bound(row_starts.begin(), row_starts.end(), bucket.from);
    rows[static_cast<std::size_t>(above - row_starts.begin()) - 1].allocations += bucket.allocations;
  }
  const auto filled = [](const size_bucket& row) { return row.allocations != 0; };
  rows.erase(rows.begin(), std::find_if(rows.begin(), rows.end(), filled));
  rows.erase(std::find_if(rows.rbegin(), rows.rend(), filled).base(), rows.end());
  return rows;
}

}  // namespace heapledger::analyse
