#include "tool/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tool/profile/saturating.hpp"
#include "tool/report/marker_table.hpp"
#include "tool/report/next_steps.hpp"
#include "tool/report/overview.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/site_section.hpp"
#include "tool/report/tables.hpp"
#include "tool/report/troubles.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

using analyse::measure;

constexpr std::size_t sites_in_first_list = 10;
constexpr std::size_t sites_in_other_lists = 5;

// A program that ended has freed most of what mattered: its peak tells more than its leftovers.
std::vector<measure> lists_of(const profile& p, std::optional<measure> first) {
  const bool ended = p.process.ended == ending::exited && !p.window;
  std::vector<measure> lists = ended ? std::vector{measure::peak, measure::live, measure::count}
                                     : std::vector{measure::live, measure::peak, measure::count};
  if (first) {
    std::erase(lists, *first);
    lists.insert(lists.begin(), *first);
    if (*first == measure::temporary) std::erase(lists, measure::count);
  }
  return lists;
}

std::string live_title(ending ended) {
  switch (ended) {
    case ending::exited:
      return "Never freed";
    case ending::signaled:
      return "Where the memory was when it was killed";
    case ending::running:
      return "Where the memory is now";
    case ending::lost:
      break;
  }
  return "Where the memory was when last seen";
}

// Of a window the sum says little: what one place gave back hides what another took.
struct window_change {
  std::int64_t grew = 0;
  std::int64_t shrank = 0;
};

window_change change_of(const std::vector<analyse::site>& sites) {
  window_change result;
  for (const auto& site : sites) {
    const std::int64_t bytes = std::max(site.count.live_bytes(), -INT64_MAX);
    auto& sum = bytes > 0 ? result.grew : result.shrank;
    sum = saturating_sum(sum, bytes > 0 ? bytes : -bytes);
  }
  return result;
}

std::string growth_title(const window_change& change) {
  const std::string grew = change.grew == 0 ? "nothing" : bytes_text(change.grew);
  if (change.shrank == 0) return fmt::format("What grew: {}", grew);
  return fmt::format("What grew: {} ({} shrank{})", grew, bytes_text(change.shrank),
                     change.grew == 0 ? "" : " elsewhere");
}

std::string title_of(const profile& p, measure by) {
  const counters total = p.totals();
  switch (by) {
    case measure::live:
      return fmt::format("{}: {}", live_title(p.process.ended), bytes_text(total.live_bytes()));
    case measure::peak:
      return fmt::format("Where the memory was at the peak: {}", bytes_text(total.peak_bytes));
    case measure::allocated:
      return fmt::format("Who allocates most bytes: {}", bytes_text(total.allocated_bytes));
    case measure::count:
      return fmt::format("What churns: {}", counted(total.allocations, "allocation", "allocations"));
    case measure::temporary:
      return fmt::format("What is freed at once: {}",
                         counted(total.temporaries, "temporary allocation", "temporary allocations"));
  }
  return {};
}

bool peak_is_what_lives(const profile& p) {
  return std::all_of(p.stacks.begin(), p.stacks.end(),
                     [](const stack_entry& stack) { return stack.count.peak_bytes == stack.count.live_bytes(); });
}

// A share of one list: what an option left out of it.
void write_left_out(page& page, const profile& p, measure by, const std::vector<bool>& left_out,
                    const std::string& option) {
  if (left_out.empty()) return;
  counters sum;
  std::uint64_t stacks = 0;
  for (std::size_t i = 0; i < p.stacks.size(); ++i) {
    if (!left_out[i] || value_of(p.stacks[i].count, by) <= 0) continue;
    sum += p.stacks[i].count;
    ++stacks;
  }
  const auto value = value_of(sum, by);
  const auto count = static_cast<std::uint64_t>(value);
  const std::string amount = by == measure::count ? counted(count, "allocation", "allocations")
                             : by == measure::temporary
                                 ? counted(count, "temporary allocation", "temporary allocations")
                                 : bytes_text(value);
  page.paragraph(fmt::format("without {} in {}, left out by {}; shares are of all", amount,
                             counted(stacks, "stack", "stacks"), option),
                 2, tone::faint);
}

// The heading of a list. False: there is nothing to list.
bool write_list_heading(page& page, const profile& p, measure by, std::optional<measure> chosen,
                        const window_change& change) {
  if (p.window && by == measure::live) {
    page.heading(growth_title(change));
    return change.grew != 0;
  }
  const bool has_any = value_of(p.totals(), by) > 0;
  if (!has_any && by == measure::live && p.process.ended == ending::exited)
    page.heading("Never freed: nothing");
  else if (has_any || by == chosen)
    page.heading(title_of(p, by));
  return has_any;
}

void write_list(page& page, const profile& p, site_list& sites, const text_options& options,
                const site_section_options& section) {
  std::vector<bool> without = options.left_out;
  write_left_out(page, p, section.by, options.left_out, options.left_out_by);
  if (section.by == measure::live && !options.known.empty()) {
    write_left_out(page, p, section.by, options.known, "--suppressions");
    without.resize(p.stacks.size());
    for (std::size_t at = 0; at < without.size(); ++at) without[at] = without[at] || options.known[at];
  }
  if (without.empty()) return write_sites(page, sites, section);
  site_list some(p, without);
  write_sites(page, some, section);
}

void write_lists(page& page, const profile& p, site_list& sites, const text_options& options) {
  if (p.process.stacks == "off") return;  // one place, with everything
  auto lists = lists_of(p, options.by);
  const bool same = !p.window && p.totals().live_bytes() > 0 && peak_is_what_lives(p);
  if (same) std::erase(lists, options.by == measure::peak ? measure::live : measure::peak);
  const window_change change = p.window ? change_of(sites.sites()) : window_change{};

  for (std::size_t i = 0; i < lists.size(); ++i) {
    const measure by = lists[i];
    if (!write_list_heading(page, p, by, options.by, change)) continue;
    if (same && (by == measure::live || by == measure::peak)) page.line("  (this is the peak as well)", tone::faint);
    site_section_options section;
    section.by = by;
    if (p.window && by == measure::live) section.shares_of = change.grew;
    section.depth = options.depth;
    section.full_recursion = options.full_recursion;
    section.top = options.top;
    section.aside = i > 0;
    section.usual = i == 0 ? sites_in_first_list : sites_in_other_lists;
    write_list(page, p, sites, options, section);
  }
}

void write_memory_shares(page& page, const profile& p) {
  const auto write = [&](const std::string& text, std::string_view section) {
    if (text.empty()) return;
    page.blank();
    page.paragraph(fmt::format("{} See \"{}\" below.", text, section), 2);
  };
  write(mapped_share_text(p), "Mapped by the program itself");
  write(allocator_share_text(p), "Resident memory");
}

}  // namespace

std::string text_report(const profile& p, const text_options& options) {
  std::string out;
  page page(out, options.style);
  site_list sites(p);
  write_overview(page, p);
  write_errors(page, p, sites.machinery());
  write_lost_stacks(page, p);
  write_missing_names(page, p, sites.sites());
  write_dead_ends(page, p);
  write_memory_shares(page, p);
  write_lists(page, p, sites, options);
  write_scopes(page, p);
  write_markers(page, p, options.file);
  write_pools(page, p);
  write_mapped(page, p);
  write_threads(page, p);
  write_sizes(page, p);
  write_lifetimes(page, p);
  write_memory(page, p);
  write_losses(page, p);
  write_symbol_advice(page, p);
  write_profiler(page, p);
  if (!options.file.empty()) write_next(page, p, options);
  return out;
}

}  // namespace heapledger::report
