#include "tool/live/pools.hpp"

#include <fmt/format.h>

#include <limits>

#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

// Counts and sizes come from a file, and may be anything.
std::uint64_t product(std::uint64_t count, std::uint64_t bytes) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t result = 0;
  return __builtin_mul_overflow(count, bytes, &result) || result > most ? most : result;
}

}  // namespace

std::vector<row> pool_rows(const profile& p) {
  std::vector<row> rows;
  for (const auto& pool : p.pools) {
    const std::string name = pool.name.empty() ? "(no name)" : pool.name;
    rows.push_back({.id = static_cast<std::uint32_t>(rows.size()),
                    .name = fmt::format("{}, {}", name, report::bytes_text(pool.chunk_bytes)),
                    .count = {.allocations = pool.allocations,
                              .allocated_bytes = product(pool.allocations, pool.chunk_bytes),
                              .frees = pool.frees,
                              .freed_bytes = product(pool.frees, pool.chunk_bytes),
                              .peak_bytes = static_cast<std::int64_t>(product(pool.peak_page_bytes, 1))},
                    .rate = {},
                    .pool = {.chunk_bytes = pool.chunk_bytes,
                             .pages = pool.pages,
                             .page_bytes = pool.page_bytes,
                             .open = pool.opened - pool.closed}});
  }
  return rows;
}

std::string pool_pages_text(const row& of) {
  return report::count_text(of.pool.pages);
}

std::string pool_memory_text(const row& of) {
  return report::bytes_text(of.pool.page_bytes);
}

std::string pool_used_text(const row& of) {
  if (of.pool.page_bytes == 0) return "-";
  return report::percent_text(static_cast<double>(of.count.live_bytes()), static_cast<double>(of.pool.page_bytes));
}

std::string pool_json(const row& of) {
  return fmt::format(R"(,"chunk_bytes":{},"open":{},"pages":{},"page_bytes":{},"peak_page_bytes":{})",
                     of.pool.chunk_bytes, of.pool.open, of.pool.pages, of.pool.page_bytes, of.count.peak_bytes);
}

}  // namespace heapledger::live
