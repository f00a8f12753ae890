#include "tool/report/marker_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/analyse/timeline.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t rows_shown = 20;

std::string row_text(const marker_info& marker) {
  return fmt::format("{:>10}  {:>12} in {} block{}", seconds_text(marker.time_ns), bytes_text(marker.live_bytes),
                     signed_count_text(marker.live_blocks), marker.live_blocks == 1 ? "" : "s");
}

}  // namespace

void write_markers(page& page, const profile& p, const std::string& file) {
  if (p.markers.empty()) return;
  page.heading("Marks and snapshots");
  const marker_info* first = nullptr;
  for (std::size_t i = 0; i < p.markers.size(); ++i) {
    const auto& marker = p.markers[i];
    if (marker.snapshot && first == nullptr) first = &marker;
    if (i >= rows_shown) continue;
    page.line(fmt::format("  {}  {}{}", padded(row_text(marker), 44), terminal_text(marker.name),
                          marker.snapshot ? "  (snapshot)" : ""));
  }
  if (p.markers.size() > rows_shown)
    page.line(fmt::format("  and {} more; --json has all", p.markers.size() - rows_shown), tone::faint);
  if (file.empty() || first == nullptr) return;
  page.command(fmt::format("heapledger report --since {} {}", terminal_text(shell_quoted(first->name)),
                           terminal_text(shell_file(file))));
  page.line("      what grew since then; --until NAME: up to another snapshot", tone::faint);
}

std::string marker_line(const profile& p, std::size_t width, bool unicode) {
  constexpr std::size_t least_name = 4;
  const std::int64_t end_ns = analyse::end_of(p.timeline, p.process.duration_ns);
  if (end_ns <= 0 || width == 0) return {};
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < p.markers.size(); ++i) {
    const auto at = analyse::column_at(p.markers[i].time_ns, end_ns, width);
    if (at < used) continue;
    const auto next =
        i + 1 < p.markers.size() ? analyse::column_at(p.markers[i + 1].time_ns, end_ns, width) : width + 1;
    const auto room = std::min(next - std::min(next, at + 2), width - at - 1);
    const auto name = terminal_text(p.markers[i].name);
    const bool fits = columns(name) <= room || room >= least_name;
    const bool at_the_edge = i + 1 == p.markers.size();
    const bool before = !fits && at_the_edge && at - used > columns(name);
    line += std::string(at - used - (before ? columns(name) : 0), ' ') + (before ? name : "") + (unicode ? "▲" : "^");
    used = at + 1;
    if (!fits) continue;
    line += cut_right(name, room);
    used = at + 1 + std::min(columns(name), room);
  }
  return line;
}

}  // namespace heapledger::report
