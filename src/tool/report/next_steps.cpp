#include "tool/report/next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tool/report/printable.hpp"

namespace heapledger::report {
namespace {

// Whether what lives is a leak only a watch can tell, of a program that runs long enough.
void write_watch_next(page& page, const profile& p, const std::string& file) {
  constexpr std::int64_t long_enough_ns = 60'000'000'000;
  if (p.leaks || p.window || p.process.stacks == "off") return;
  const bool is_pid = std::all_of(file.begin(), file.end(), [](char c) { return c >= '0' && c <= '9'; });
  const counters totals = p.totals();
  if (p.process.ended == ending::running && is_pid) {
    page.command(fmt::format("heapledger leaks {}", file));
    page.line("      watches it from now on: what is neither freed nor used any more", tone::faint);
  } else if (p.process.ended != ending::running && p.process.duration_ns >= long_enough_ns &&
             totals.live_bytes() >= totals.peak_bytes / 2 && totals.live_bytes() > 0) {
    page.command("heapledger run --leaks ...");
    page.line("      the same run with a watch: what is neither freed nor used any more", tone::faint);
  }
}

}  // namespace

void write_next(page& page, const profile& p, const text_options& options) {
  const std::string file = terminal_text(shell_file(options.file));
  const std::string same = terminal_text(options.window_words) + file;
  const bool timeable = !p.process.lives_timed && !p.window;
  const bool has_stacks = p.process.stacks != "off";
  page.heading("Next");
  if (p.leaks) {
    page.command(fmt::format("heapledger leaks {}", file));
    page.line("      what the leak watch found", tone::faint);
  }
  if (!has_stacks) {
    page.command("heapledger run -- ...");
    page.line("      the same run with stacks: where the memory is, and who allocates", tone::faint);
  } else {
    if (!p.window) {
      page.command(fmt::format("heapledger html {}", file));
      page.line("      the same, and every stack, as a page for a browser: flame graph, search", tone::faint);
    }
    const counters& totals = p.totals();
    const bool has_temporaries = totals.temporaries > 0 && totals.temporaries >= totals.allocations / 100;
    const bool is_shown = options.by == analyse::measure::temporary;
    page.command(
        fmt::format("heapledger report --by {} {}", has_temporaries && !is_shown ? "temporary" : "allocated", same));
    page.line(fmt::format("      the same by another measure: {}",
                          p.window ? "live allocated count temporary" : "live peak allocated count temporary"),
              tone::faint);
  }
  page.command(fmt::format("heapledger report --json {}", same));
  page.line(has_stacks ? "      every stack with every frame, for programs" : "      the same, for programs",
            tone::faint);
  write_watch_next(page, p, file);
  if (timeable) {
    page.command("heapledger run --lifetimes ...");
    page.line("      the same run with every block timed: how long blocks live, and whose", tone::faint);
  }
}

}  // namespace heapledger::report
