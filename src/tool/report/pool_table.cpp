#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tool/analyse/excerpt.hpp"
#include "tool/report/grid.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/site_section.hpp"
#include "tool/report/tables.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t pool_rows_shown = 20;
constexpr std::size_t stacks_shown = 3;
constexpr std::size_t pool_name_width = 24;

std::string name_of(const pool_info& pool) {
  return pool.name.empty() ? "(no name)" : terminal_text(pool.name);
}

std::string open_of(const pool_info& pool) {
  const std::uint64_t open = pool.opened - pool.closed;
  return pool.closed == 0 ? count_text(open) : fmt::format("{} of {}", count_text(open), count_text(pool.opened));
}

std::string used_of(const pool_info& pool) {
  if (pool.page_bytes == 0) return "";
  return percent_text(static_cast<double>(pool.chunks_in_use()) * static_cast<double>(pool.chunk_bytes),
                      static_cast<double>(pool.page_bytes));
}

// The stacks of pools, one pool after the other, as if they were all that the process did.
class pool_stacks {
 public:
  explicit pool_stacks(const profile& p) : heap_(analyse::without_stacks(p)) {}

  void write(page& page, const pool_info& pool) {
    heap_.stacks.clear();
    for (const auto& site : pool.sites)
      heap_.stacks.push_back({.id = static_cast<std::uint32_t>(heap_.stacks.size()),
                              .node = site.node,
                              .scope = {},
                              .count = {.allocations = site.allocations,
                                        .allocated_bytes = site.allocated_bytes,
                                        .frees = site.frees,
                                        .freed_bytes = site.freed_bytes}});
    site_list list(heap_);
    const bool any_live = heap_.totals().live_bytes() != 0;
    write_sites(page, list,
                {.by = any_live ? analyse::measure::live : analyse::measure::allocated,
                 .top = stacks_shown,
                 .usual = stacks_shown,
                 .aside = true});
  }

 private:
  profile heap_;
};

}  // namespace

void write_pools(page& page, const profile& p) {
  if (p.pools.empty()) return;
  std::vector<const pool_info*> rows;
  for (const auto& pool : p.pools) rows.push_back(&pool);
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->peak_page_bytes > b->peak_page_bytes; });
  const std::size_t count = rows.size();
  if (count > pool_rows_shown) rows.resize(pool_rows_shown);
  page.heading("Pools");
  grid table({{"", pool_name_width, cell::name},
              {"pools", 15},
              {"chunk", 11},
              {"in use", 13},
              {"memory", 12},
              {"used", 8},
              {"highest", 12}});
  for (const auto* pool : rows)
    table.add({name_of(*pool), open_of(*pool), bytes_text(pool->chunk_bytes), count_text(pool->chunks_in_use()),
               bytes_text(pool->page_bytes), used_of(*pool), bytes_text(pool->peak_page_bytes)});
  table.fit(page.width());
  page.line(table.head(), tone::faint);
  std::optional<pool_stacks> stacks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.line(table.line(i));
    if (rows[i]->sites.empty()) continue;
    if (!stacks) stacks.emplace(p);
    stacks->write(page, *rows[i]);
  }
  if (rows.size() < count) page.line(fmt::format("  {} more", count - rows.size()), tone::faint);
  page.paragraph(
      "Memory that the pools hold themselves, beside what the stacks above tell of; \"used\" is the part of it "
      "that is chunks in use, \"highest\" the most that any one of them held.",
      2, tone::faint);
}

}  // namespace heapledger::report
