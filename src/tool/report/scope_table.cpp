#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tool/analyse/scopes.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/tables.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t rows_shown = 20;
constexpr std::size_t name_width = 32;

std::string name_of(const analyse::scope_row& row) {
  if (row.path.empty()) return "(in no scope)";
  return std::string(2 * (row.path.size() - 1), ' ') + terminal_text(row.path.back());
}

std::string cut(std::string name) {
  if (columns(name) <= name_width) return name;
  while (columns(name) > name_width - 3) name.pop_back();
  return name + "...";
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

}  // namespace

void write_scopes(page& page, const profile& p) {
  auto rows = analyse::scope_rows(p);
  if (rows.empty()) return;
  const std::size_t count = rows.size();
  if (count > rows_shown) {
    // The largest, and what they are in: an ancestor is never smaller than its descendants.
    std::vector<std::int64_t> sizes;
    sizes.reserve(rows.size());
    for (const auto& row : rows) sizes.push_back(static_cast<std::int64_t>(row.all.allocated_bytes));
    std::nth_element(sizes.begin(), sizes.begin() + rows_shown, sizes.end(), std::greater<>());
    const std::int64_t smallest = sizes[rows_shown];
    std::erase_if(rows,
                  [&](const auto& row) { return static_cast<std::int64_t>(row.all.allocated_bytes) <= smallest; });
  }
  page.heading("Scopes");
  page.line(fmt::format("  {} {:>11} {:>11} {:>13} {:>11} {:>10}", padded("", name_width), "live", "highest",
                        "allocated", "in", "scopes"),
            tone::faint);
  for (const auto& row : rows) {
    const bool known = row.info != nullptr;
    page.line(fmt::format("  {} {:>11} {:>11} {:>13} {:>11} {:>10}", padded(cut(name_of(row)), name_width),
                          bytes_text(row.all.live_bytes()), known ? bytes_text(row.info->peak_bytes) : "",
                          bytes_text(row.all.allocated_bytes), count_text(row.all.allocations),
                          known ? count_text(row.info->opened) : ""));
    if (known) write_budget(page, *row.info);
  }
  if (rows.size() < count)
    page.line(fmt::format("  {} more", counted(count - rows.size(), "kind", "kinds")), tone::faint);
  page.paragraph("Each with the scopes below it; \"highest\" is the most that any one of a kind had live.", 2,
                 tone::faint);
}

}  // namespace heapledger::report
