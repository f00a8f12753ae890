#include "tool/live/view.hpp"

#include <algorithm>
#include <array>

#include "tool/live/mapped.hpp"
#include "tool/live/pools.hpp"
#include "tool/live/table.hpp"
#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

std::string live_of(const row& of) {
  return report::bytes_text(of.count.live_bytes());
}

std::string blocks_of(const row& of) {
  return report::signed_count_text(of.count.live_blocks());
}

std::string growth_of(const row& of) {
  return growth_text(of.rate.live_bytes);
}

std::string churn_of(const row& of) {
  return churn_text(of.rate.allocations);
}

std::string peak_of(const row& of) {
  return report::bytes_text(of.count.peak_bytes);
}

constexpr std::array counted = {
    column{"LIVE", order::live, false, 5, live_of},        column{"BLOCKS", {}, false, 1, blocks_of},
    column{"GROWTH/s", order::growth, true, 4, growth_of}, column{"ALLOCS/s", order::churn, true, 3, churn_of},
    column{"PEAK", order::peak, false, 2, peak_of},
};

constexpr std::array of_pools = {
    column{"IN USE", order::live, false, 6, live_of},    column{"CHUNKS", {}, false, 2, blocks_of},
    column{"PAGES", {}, false, 0, pool_pages_text},      column{"MEMORY", {}, false, 5, pool_memory_text},
    column{"USED", {}, false, 4, pool_used_text},        column{"GROWTH/s", order::growth, true, 1, growth_of},
    column{"ALLOCS/s", order::churn, true, 3, churn_of}, column{"HIGHEST", order::peak, false, 1, peak_of},
};

constexpr std::array of_mapped = {
    column{"MAPPED", order::live, false, 6, live_of},
    column{"RESIDENT", {}, false, 5, mapped_resident_text},
    column{"RANGES", {}, false, 0, mapped_ranges_text},
    column{"GROWTH/s", order::growth, true, 4, growth_of},
    column{"CALLS/s", order::churn, true, 2, churn_of},
    column{"AT MOST", order::peak, false, 3, mapped_most_resident_text},
};

constexpr std::array known_views = {
    view{"stack", "stacks", "WHERE", none_lives, '1', true, &sample::stacks, counted},
    view{"thread", "threads", "THREAD", none_lives, '2', false, &sample::threads, std::span(counted).first(4)},
    view{"scope", "scopes", "SCOPE", "this program has no scopes; docs/budgets.md says how to make them", '3', false,
         &sample::scopes, counted},
    view{"pool", "pools", "POOL", "no pool of this program shows itself; docs/pools.md says how one does", '4', false,
         &sample::pools, of_pools},
    view{"mapping", "mappings", "WHERE", "this program has mapped nothing itself; docs/mappings.md says what counts",
         '5', true, &sample::mapped, of_mapped},
};

}  // namespace

bool view::sorts_by(order by) const {
  if (by == order::leaks) return rows == &sample::stacks;  // marked in front of their names
  return std::any_of(columns.begin(), columns.end(), [&](const column& each) { return each.sorts == by; });
}

std::span<const view> views() {
  return known_views;
}

const view& view_of(subject what) {
  return known_views[static_cast<std::size_t>(what)];
}

}  // namespace heapledger::live
