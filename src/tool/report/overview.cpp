#include "tool/report/overview.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "tool/analyse/seen_peak.hpp"
#include "tool/analyse/snapshots.hpp"
#include "tool/analyse/timeline.hpp"
#include "tool/report/bars.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/marker_table.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (name == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", name, description != nullptr ? description : "?");
}

void write_process(page& page, const profile& p) {
  const process_info& process = p.process;
  page.line(command_text(process.command, process.exe), tone::bold);
  std::string line = fmt::format("pid {}", process.pid);
  if (!process.host.empty()) line += " on " + terminal_text(process.host);
  const std::time_t started = (process.start_realtime_ns - process.attached_after_ns) / 1'000'000'000;
  std::tm local{};
  if (started > 0 && localtime_r(&started, &local) != nullptr) line += fmt::format(", started {:%F %T}", local);
  if (process.attached_after_ns > 0)
    line += fmt::format(", attached {} later, watched for {}", seconds_text(process.attached_after_ns),
                        seconds_text(process.duration_ns));
  else
    line += fmt::format(", ran {}", seconds_text(process.duration_ns));
  line += ", " + ending_text(p);
  page.paragraph(line, 0);
  for (const auto& note : process_notes(process)) page.paragraph(note, 0);
}

void write_window(page& page, const profile& p) {
  const auto moment = [](const marker_info& marker) {
    const char* const quote = marker.snapshot ? "'" : "";  // the end has no name that could be typed
    return fmt::format("{0}{1}{0} (at {2})", quote, terminal_text(marker.name), seconds_text(marker.time_ns));
  };
  page.blank();
  page.line(fmt::format("From {} to {}", moment(p.window->since), moment(p.window->until)), tone::bold);
  page.paragraph(
      "All numbers are of what happened between the two. A free is booked to the place that allocated, "
      "whenever that was: a place that freed older blocks meanwhile kept more new ones than it shows.",
      0, tone::faint);
}

const char* live_label(ending ended) {
  switch (ended) {
    case ending::exited:
      return "never freed";
    case ending::signaled:
      return "live at death";
    case ending::running:
      return "live now";
    case ending::lost:
      break;
  }
  return "last seen live";
}

// In a window there may be less than before, and of one thing less and of the other more.
std::pair<std::string, std::string> live_row(const profile& p, std::int64_t bytes, std::int64_t blocks) {
  const auto text = [](std::int64_t of_bytes, const char* in, std::int64_t of_blocks) {
    return fmt::format("{} {}{} block{}", bytes_text(of_bytes), in, signed_count_text(of_blocks),
                       of_blocks == 1 ? "" : "s");
  };
  if (!p.window) return {live_label(p.process.ended), text(bytes, "in ", blocks)};
  if (bytes >= 0 && blocks >= 0) return {"grew by", text(bytes, "in ", blocks)};
  if (bytes <= 0 && blocks <= 0) return {"shrank by", text(-bytes, "in ", -blocks)};
  return {"changed by", bytes < 0 ? text(bytes, "in +", blocks) : "+" + text(bytes, "in ", blocks)};
}

void write_totals(page& page, const profile& p) {
  const counters total = p.totals();
  const auto row = [&](std::string_view label, const std::string& text) {
    page.line(fmt::format("  {}{}", padded(label, 15), text));
  };
  const auto [label, live] = live_row(p, total.live_bytes(), total.live_blocks());
  row(label, live);
  std::string peak = bytes_text(total.peak_bytes);
  if (p.peak.time_ns)
    peak += fmt::format(", {} after {}", seconds_text(*p.peak.time_ns),
                        p.process.attached_after_ns > 0 ? "attaching" : "the start");
  if (p.peak.error_bytes != 0) peak += fmt::format("; true to within {}", bytes_text(p.peak.error_bytes));
  const auto seen = analyse::seen_above_peak(p);
  if (seen)
    row("peak", fmt::format("at least {}, seen {} after {}", bytes_text(seen->live_bytes), seconds_text(seen->time_ns),
                            p.process.attached_after_ns > 0 ? "attaching" : "the start"));
  if (!p.window) row(seen ? "  by stack" : "peak", peak);

  std::string rate;
  if (!p.window && p.process.duration_ns >= 100'000'000) {
    const double seconds = static_cast<double>(p.process.duration_ns) / 1e9;
    const auto per_second = static_cast<std::uint64_t>(static_cast<double>(total.allocations) / seconds);
    if (per_second > 0) rate = fmt::format(", {} a second", count_text(per_second));
  }
  row("allocated", fmt::format("{} in {}{}", bytes_text(total.allocated_bytes),
                               counted(total.allocations, "allocation", "allocations"), rate));
  row("freed", fmt::format("{} in {}", bytes_text(total.freed_bytes), counted(total.frees, "free", "frees")));
  if (total.allocations != 0) {
    row("temporary",
        fmt::format("{} ({:.1f} %), freed before their thread's next",
                    counted(total.temporaries, "allocation", "allocations"),
                    100.0 * static_cast<double>(total.temporaries) / static_cast<double>(total.allocations)));
  }
  if (total.reallocations != 0) row("reallocated", counted(total.reallocations, "time", "times"));
}

void write_timeline(page& page, const profile& p) {
  constexpr std::size_t margin = 2;
  if (p.timeline.size() < 3 || p.window) return;
  std::optional<analyse::peak_moment> peak;  // seldom was it looked at just then
  if (p.peak.time_ns) peak = {*p.peak.time_ns, p.totals().peak_bytes};
  const auto heights = analyse::live_columns(p.timeline, p.process.duration_ns, page.width() - 2 * margin, peak);
  const std::int64_t highest = heights.empty() ? 0 : *std::max_element(heights.begin(), heights.end());
  if (highest <= 0) return;
  page.blank();
  page.line(fmt::format("  Live bytes over {}; the highest column is {}", seconds_text(p.process.duration_ns),
                        bytes_text(highest)),
            tone::faint);
  page.line(std::string(margin, ' ') + bars(heights, highest, page.unicode()));
  if (const auto marks = marker_line(p, heights.size(), page.unicode()); !marks.empty())
    page.line(std::string(margin, ' ') + marks, tone::faint);
}

}  // namespace

std::string ending_text(const process_info& process) {
  switch (process.ended) {
    case ending::exited:
      if (process.replaced) return "went on as another program (exec)";
      return process.exit_code ? fmt::format("exited with status {}", *process.exit_code) : "exited";
    case ending::signaled:
      return process.signal ? fmt::format("was killed by {}", signal_text(*process.signal)) : "was killed by a signal";
    case ending::running:
      return "is still running";
    case ending::lost:
      break;
  }
  return "its end was not seen";
}

std::string ending_text(const profile& p) {
  const marker_info* snapshot = analyse::shown_snapshot(p);
  if (snapshot == nullptr) return ending_text(p.process);
  return fmt::format("as it was at the snapshot '{}'", terminal_text(snapshot->name));
}

std::vector<std::string> process_notes(const process_info& process) {
  std::vector<std::string> notes;
  if (process.signal == SIGKILL)
    notes.emplace_back("SIGKILL comes from a person, a supervisor, or the kernel when memory runs out (see dmesg).");
  if (process.forked)
    notes.push_back(fmt::format("It is a fork of pid {}: what that had allocated before is not in these numbers.",
                                process.parent_pid));
  if (process.attached_after_ns > 0)
    notes.emplace_back("What it had allocated before is not in these numbers; times are from the moment of attaching.");
  if (process.stacks == "off")
    notes.emplace_back(
        "Recorded with --stacks off: how much was allocated, by which thread and in which sizes, but not where. Record "
        "without that option to see the places.");
  if (process.stacks == "fp")
    notes.emplace_back("Recorded with --stacks fp: code built without frame pointers is missing from stacks.");
  if (process.stacks == "jit")
    notes.emplace_back(
        "Recorded with --stacks jit: callers of code without unwind tables were found by frame pointers. Where such "
        "code keeps none, they are missing or wrong.");
  return notes;
}

std::string nothing_seen_text(const profile& p) {
  if (p.window || p.totals().allocations != 0 || p.process.exe.empty()) return {};
  return fmt::format(
      "Not one allocation was seen. Does the program bring an allocator of its own, linked into it? "
      "heapledger doctor {} tells.",
      terminal_text(shell_quoted(p.process.exe)));
}

void write_overview(page& page, const profile& p) {
  write_process(page, p);
  if (p.window) write_window(page, p);
  page.blank();
  write_totals(page, p);
  if (const auto text = nothing_seen_text(p); !text.empty()) {
    page.blank();
    page.paragraph(text, 2);
  }
  write_timeline(page, p);
}

}  // namespace heapledger::report
