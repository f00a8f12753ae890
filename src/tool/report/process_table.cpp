#include "tool/report/process_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/profile/saturating.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/grid.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t process_rows_shown = 20;

std::string short_ending(const process_info& process) {
  switch (process.ended) {
    case ending::exited:
      if (process.replaced) return "exec";
      return process.exit_code ? fmt::format("exit {}", *process.exit_code) : "exit";
    case ending::signaled:
      return process.signal ? fmt::format("signal {}", *process.signal) : "signal";
    case ending::running:
      return "running";
    case ending::lost:
      break;
  }
  return "?";
}

// Its name and arguments: the folder would take their place.
std::string program_text(process_info process) {
  if (!process.command.empty()) process.command[0].erase(0, process.command[0].rfind('/') + 1);
  return command_text(process.command, process.exe);
}

std::int64_t rank_of(const process_row& row, std::optional<analyse::measure> by) {
  return by ? analyse::value_of(row.totals, *by) : saturating_sum(row.totals.peak_bytes, row.mapped_bytes);
}

void write_head(page& page, const std::vector<process_row>& rows) {
  std::int64_t allocated = 0;
  std::int64_t allocations = 0;
  for (const auto& row : rows) {
    allocated = saturating_sum(allocated, static_cast<std::int64_t>(row.totals.allocated_bytes));
    allocations = saturating_sum(allocations, static_cast<std::int64_t>(row.totals.allocations));
  }
  page.line(fmt::format("{} allocated {} in {} allocations", counted(rows.size(), "process", "processes"),
                        bytes_text(allocated), signed_count_text(allocations)),
            tone::bold);
}

}  // namespace

std::string process_table(std::vector<process_row> rows, const process_table_options& options) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return rank_of(a, options.by) > rank_of(b, options.by); });
  std::string out;
  page page(out, options.style);
  write_head(page, rows);
  page.blank();
  const std::size_t most = options.top == 0 ? process_rows_shown : options.top;
  const bool any_mapped = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.mapped_bytes != 0; });
  std::vector<grid_column> columns = {{"program", 34, cell::name}, {"pid", 9}, {"peak", 12}};
  if (any_mapped) columns.push_back({"mapped", 12});
  columns.insert(columns.end(), {{"live", 12}, {"allocations", 13}, {"ran", 11}, {"ended", 11}});
  grid table(std::move(columns));
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const auto& [file, process, totals, mapped_bytes] = rows[i];
    std::vector<std::string> cells = {program_text(process), std::to_string(process.pid),
                                      bytes_text(totals.peak_bytes)};
    if (any_mapped) cells.push_back(bytes_text(mapped_bytes));
    for (const auto& text : {bytes_text(totals.live_bytes()), count_text(totals.allocations),
                             seconds_text(process.duration_ns), short_ending(process)})
      cells.push_back(text);
    table.add(std::move(cells));
  }
  page.table(table);
  if (rows.size() > most)
    page.line(fmt::format("  and {} more; --top {} shows all", count_text(rows.size() - most), rows.size()),
              tone::faint);
  page.heading("Next");
  page.command("heapledger report " + terminal_text(shell_file(rows[0].file)));
  page.line("      where the memory of the first of these was", tone::faint);
  if (rows.size() != 2) return out;
  page.command(fmt::format("heapledger diff {} {}", terminal_text(shell_file(rows[0].file)),
                           terminal_text(shell_file(rows[1].file))));
  page.line("      the two compared, where they are two runs of one program", tone::faint);
  return out;
}

}  // namespace heapledger::report
