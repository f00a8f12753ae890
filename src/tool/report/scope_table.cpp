#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tool/analyse/scopes.hpp"
#include "tool/report/grid.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/tables.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t scope_rows_shown = 20;
constexpr std::size_t rows_refused = 5;
constexpr std::size_t freers_shown = 10;
constexpr std::size_t scope_name_width = 32;
constexpr std::size_t path_width = 26;

std::string name_of(const analyse::scope_row& row) {
  if (row.path.empty()) return "(in no scope)";
  return std::string(2 * (row.path.size() - 1), ' ') + terminal_text(row.path.back());
}

// What the budgets did, where there were any.
void write_budget(page& page, const scope_info& info) {
  std::string limits;
  const auto add = [&limits](std::string text) { limits += (limits.empty() ? "" : ", ") + std::move(text); };
  if (info.live_bytes_limit) add(bytes_text(*info.live_bytes_limit) + " live");
  if (info.allocated_bytes_limit) add(bytes_text(*info.allocated_bytes_limit) + " allocated");
  if (info.allocations_limit)
    add(counted(static_cast<std::uint64_t>(*info.allocations_limit), "allocation", "allocations"));
  if (limits.empty() && info.refusals == 0 && info.overdrafts == 0) return;
  std::string line = "budget " + (limits.empty() ? "of the scopes above" : limits);
  if (info.refusals != 0) line += fmt::format("; {} refused", counted(info.refusals, "allocation", "allocations"));
  if (info.overdrafts != 0)
    line += fmt::format("; {} let through", counted(info.overdrafts, "allocation", "allocations"));
  page.paragraph(line, 2 + 2 * info.path.size(), tone::faint);
}

// What outlives its scope, where it is certain that none of them is open.
void write_outliving(page& page, const analyse::scope_row& row) {
  if (row.info->closed < row.info->opened || row.alone.live_bytes() <= 0) return;
  page.paragraph(fmt::format("all closed; {} in {} outlived them", bytes_text(row.alone.live_bytes()),
                             counted(static_cast<std::uint64_t>(row.alone.live_blocks()), "block", "blocks")),
                 2 + 2 * row.path.size(), tone::faint);
}

std::string path_text(const std::vector<std::string>& path) {
  std::string text;
  for (const auto& name : path) text += (text.empty() ? "" : " / ") + name;
  return text.empty() ? "(in no scope)" : terminal_text(text);
}

// Pairs for which the probe had no room, together.
bool beyond_the_table(const freer_info& row) {
  return row.owner.empty() && row.by.empty();
}

// What was refused most, what holds most and what allocates most, each with the scopes that it is in. Returns what no
// row that stays has in it.
counters keep_what_matters(std::vector<analyse::scope_row>& rows) {
  std::vector<bool> kept(rows.size());
  std::size_t shown = 0;
  const auto keep = [&](std::size_t row) {
    const auto& path = rows[row].path;
    for (std::size_t at = 0; at <= row; ++at) {  // in the order of paths, what it is in stands before it
      const auto& above = rows[at].path;
      if (kept[at] || above.size() > path.size() || !std::equal(above.begin(), above.end(), path.begin())) continue;
      kept[at] = true;
      ++shown;
    }
  };
  std::vector<std::size_t> order(rows.size());
  const auto keep_largest = [&](std::size_t most, auto&& value) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value(rows[a]) > value(rows[b]); });
    for (std::size_t i = 0; i < order.size() && shown < most && value(rows[order[i]]) > 0; ++i) keep(order[i]);
  };
  keep_largest(rows_refused, [](const auto& row) { return row.info ? row.info->refusals + row.info->overdrafts : 0; });
  keep_largest(scope_rows_shown / 2, [](const auto& row) { return row.all.live_bytes(); });
  keep_largest(scope_rows_shown, [](const auto& row) { return row.all.allocated_bytes; });
  counters rest;
  std::size_t at = 0;
  std::erase_if(rows, [&](const auto& row) {
    if (kept[at++]) return false;
    if (row.path.size() <= 1) rest += row.all;
    return true;
  });
  return rest;
}

// Whose memory was freed by whom, where it was not the same scope.
void write_freers(page& page, const profile& p) {
  if (p.freers.empty()) return;
  auto rows = p.freers;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.freed_bytes > b.freed_bytes; });
  grid table({{"allocated in", path_width, cell::name},
              {"freed in", path_width + 1, cell::name},
              {"freed", 12},
              {"in", 12},
              {"after end", 12}});
  for (std::size_t i = 0; i < rows.size() && i < freers_shown; ++i)
    table.add({beyond_the_table(rows[i]) ? "(other pairs)" : path_text(rows[i].owner),
               beyond_the_table(rows[i]) ? "" : path_text(rows[i].by),
               bytes_text(static_cast<std::int64_t>(rows[i].freed_bytes)), count_text(rows[i].frees),
               bytes_text(static_cast<std::int64_t>(rows[i].late_bytes))});
  page.table(table);
  if (rows.size() > freers_shown)
    page.line(fmt::format("  {}", counted(rows.size() - freers_shown, "more pair", "more pairs")), tone::faint);
  page.paragraph(
      "What was freed in other scopes than those that had allocated it; \"after end\": once they were closed.", 2,
      tone::faint);
}

// Who puts a number into a scope's name gets a row for each request, and no sums.
std::string single_names_text(const profile& p) {
  constexpr std::size_t many = 200;
  const auto once = std::count_if(p.scopes.begin(), p.scopes.end(), [](const auto& kind) { return kind.opened == 1; });
  if (p.scopes.size() < many || static_cast<std::size_t>(once) < p.scopes.size() / 10 * 9) return {};
  return fmt::format(
      "{} of {} kinds had one scope each. A scope's name is that of its kind of work: without numbers in it, all of a "
      "kind are one row.",
      count_text(static_cast<std::uint64_t>(once)), count_text(p.scopes.size()));
}

}  // namespace

void write_scopes(page& page, const profile& p) {
  auto rows = analyse::scope_rows(p);
  if (rows.empty()) return;
  const std::size_t count = rows.size();
  counters rest;
  if (count > scope_rows_shown) rest = keep_what_matters(rows);
  page.heading("Scopes");
  grid table({{"", scope_name_width, cell::name},
              {"live", 12},
              {"highest", 12},
              {"allocated", 14},
              {"in", 12},
              {"scopes", 11}});
  for (const auto& row : rows) {
    const bool known = row.info != nullptr;
    table.add({name_of(row), bytes_text(row.all.live_bytes()), known ? bytes_text(row.info->peak_bytes) : "",
               bytes_text(row.all.allocated_bytes), count_text(row.all.allocations),
               known ? count_text(row.info->opened) : ""});
  }
  if (rows.size() < count)
    table.add({counted(count - rows.size(), "more kind", "more kinds"), bytes_text(rest.live_bytes()), "",
               bytes_text(rest.allocated_bytes), count_text(rest.allocations), ""});
  table.fit(page.width());
  page.line(table.head(), tone::faint);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.line(table.line(i));
    if (rows[i].info == nullptr) continue;
    write_budget(page, *rows[i].info);
    write_outliving(page, rows[i]);
  }
  if (rows.size() < count) page.line(table.line(rows.size()), tone::faint);
  if (const auto text = single_names_text(p); !text.empty()) page.paragraph(text, 2);
  page.paragraph("Each with the scopes below it; \"highest\" is the most that any one of a kind had live.", 2,
                 tone::faint);
  write_freers(page, p);
}

}  // namespace heapledger::report
