#include "tool/analyse/lifetimes.hpp"

#include <algorithm>
#include <cmath>

namespace heapledger::analyse {
namespace {

constexpr std::uint64_t first_decade_ns = 1000;
constexpr std::uint64_t last_decade_ns = 1'000'000'000'000'000;  // 11 days

std::int64_t whole_ns(double ns) {
  return std::llround(std::clamp(ns, 0.0, 0x1p62));
}

}  // namespace

std::optional<std::int64_t> mean_life_ns(const lives& of) {
  if (of.ended == 0) return {};
  return whole_ns(of.lived.in_ns() / static_cast<double>(of.ended));
}

std::optional<std::int64_t> mean_age_ns(const lives& of, std::int64_t end_ns) {
  if (of.unended == 0) return {};
  return whole_ns(static_cast<double>(end_ns) - of.born.in_ns() / static_cast<double>(of.unended));
}

double all_lived_ns(const lives& of, std::int64_t end_ns) {
  const double ages = static_cast<double>(end_ns) * static_cast<double>(of.unended) - of.born.in_ns();
  return of.lived.in_ns() + std::max(ages, 0.0);
}

std::vector<lifetime_bucket> lifetime_rows(std::span<const lifetime_bucket> buckets) {
  std::vector<lifetime_bucket> rows = {{0, first_decade_ns - 1, 0, 0}};
  for (std::uint64_t from = first_decade_ns; from <= last_decade_ns; from *= 10)
    rows.push_back({from, from == last_decade_ns ? UINT64_MAX : 10 * from - 1, 0, 0});
  for (const auto& bucket : buckets) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return bucket.from_ns <= one.to_ns; });
    row->frees += bucket.frees;
    row->freed_bytes += bucket.freed_bytes;
  }
  const auto filled = [](const lifetime_bucket& row) { return row.frees != 0; };
  rows.erase(rows.begin(), std::find_if(rows.begin(), rows.end(), filled));
  rows.erase(std::find_if(rows.rbegin(), rows.rend(), filled).base(), rows.end());
  return rows;
}

}  // namespace heapledger::analyse
