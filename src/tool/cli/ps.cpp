// heapledger ps: the programs under heapledger on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "tool/cli/answer.hpp"
#include "tool/cli/commands.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/programs.hpp"
#include "tool/collect/resident_parts.hpp"
#include "tool/collect/totals.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/json_text.hpp"
#include "tool/report/page.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

struct row {
  collect::running_program program;
  std::int64_t running_ns = 0;
  std::int64_t attached_after_ns = 0;
  collect::quick_totals totals;
  std::int64_t rss_bytes = 0;
};

std::optional<row> look_at(const collect::running_program& program) {
  try {
    const collect::segment_file segment(program.segment, collect::links::refused);
    const auto totals = collect::totals_reader(segment).read();
    const auto resident = collect::resident_totals_of(program.pid);
    if (!totals || !resident) return {};
    const auto now_ns = collect::monotonic_ns();
    const auto start_ns = segment.header().start_monotonic_ns;
    const auto attached_after_ns = std::min(segment.header().attached_after_ns, std::uint64_t{1} << 62);
    return row{program, now_ns > start_ns ? static_cast<std::int64_t>(now_ns - start_ns) : 0,
               static_cast<std::int64_t>(attached_after_ns), *totals, resident->rss};
  } catch (const input_error&) {
    return {};  // it ended meanwhile
  }
}

std::string as_json(const std::vector<row>& rows) {
  std::string out = R"({"format":"heapledger-ps","version":1,"programs":[)";
  const char* separator = "";
  for (const auto& each : rows) {
    out += fmt::format(R"({}{{"pid":{},"exe":{},"command":[)", separator, each.program.pid,
                       report::json_string(each.program.exe));
    separator = ",\n";
    for (std::size_t i = 0; i < each.program.command.size(); ++i)
      out += (i == 0 ? "" : ",") + report::json_string(each.program.command[i]);
    out += "]";
    if (each.attached_after_ns > 0)
      out += fmt::format(R"(,"attached_after":{})", report::json_seconds(each.attached_after_ns));
    out +=
        fmt::format(R"(,"segment":{},"running":{},"live_bytes":{},"live_blocks":{},"allocations":{},"rss_bytes":{}}})",
                    report::json_string(each.program.segment), report::json_seconds(each.running_ns),
                    each.totals.live_bytes(), each.totals.live_blocks(), each.totals.allocations, each.rss_bytes);
  }
  return out + "]}\n";
}

}  // namespace

int ps(const ps_options& options) {
  std::vector<row> rows;
  for (const auto& program : collect::find_programs())
    if (auto seen = look_at(program)) rows.push_back(std::move(*seen));
  if (options.json) {
    print_answer(as_json(rows));
    finish_answer();
    return 0;
  }
  if (rows.empty()) {
    fmt::print(stderr, "heapledger ps: no program runs under heapledger here; start one: heapledger run -- PROGRAM\n");
    return 0;
  }
  const auto width = report::style_for(STDOUT_FILENO).width;
  print_answer(
      fmt::format("{:>8}  {:>9}  {:>10}  {:>10}  {:>12}  {}\n", "PID", "RUNNING", "LIVE", "RSS", "BLOCKS", "PROGRAM"));
  for (const auto& each : rows) {
    const auto line =
        fmt::format("{:>8}  {:>9}  {:>10}  {:>10}  {:>12}  {}", each.program.pid, report::seconds_text(each.running_ns),
                    report::bytes_text(each.totals.live_bytes()), report::bytes_text(each.rss_bytes),
                    report::signed_count_text(each.totals.live_blocks()),
                    report::command_text(each.program.command, each.program.exe));
    print_answer((::isatty(STDOUT_FILENO) != 0 ? report::cut_right(line, width) : line) + "\n");
  }
  if (::isatty(STDOUT_FILENO) != 0)
    print_answer("\nheapledger report PID shows one as it is now, heapledger top PID while it goes on\n");
  finish_answer();
  return 0;
}

}  // namespace heapledger::cli
