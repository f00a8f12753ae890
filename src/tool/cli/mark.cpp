// heapledger mark, heapledger snapshot: name a moment of a running program from outside. See docs/live.md.
#include <fmt/format.h>

#include <cstring>

#include "tool/cli/commands.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/values.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/outside_markers.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {

int mark(const mark_options& options) {
  if (options.name.size() >= wire::marker_name_capacity)
    throw usage_error(fmt::format("a name has at most {} bytes", wire::marker_name_capacity - 1));
  const auto program = which_program(options.pid);
  const collect::segment_file segment(program.segment, collect::links::refused);
  const auto made = collect::add_outside_marker(
      segment, [&](const auto&) { return options.name; }, options.with_books);
  if (options.quiet) return 0;
  const auto start_ns = segment.header().start_monotonic_ns;
  const double seconds = made.monotonic_ns > start_ns ? static_cast<double>(made.monotonic_ns - start_ns) / 1e9 : 0.0;
  const std::string name = made.name[0] != 0 ? std::string(made.name) : fmt::format("at-{:.3f}s", seconds);
  say(fmt::format(
      "{} '{}' of pid {} after {:.3f} s: {} live in {}", options.with_books ? "snapshot" : "mark",
      report::terminal_text(name), program.pid, seconds, report::bytes_text(made.live_bytes),
      report::counted(static_cast<std::uint64_t>(std::max<std::int64_t>(made.live_blocks, 0)), "block", "blocks")));
  return 0;
}

}  // namespace heapledger::cli
