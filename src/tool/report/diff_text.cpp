#include "tool/report/diff_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "tool/analyse/machinery.hpp"
#include "tool/diff/rank.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/distinct_names.hpp"
#include "tool/report/frame_text.hpp"
#include "tool/report/grid.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

using analyse::measure;
using diff::kind;

constexpr std::size_t places_usually = 10;
constexpr std::size_t frames_shown = 8;
constexpr const char* margin = "     ";

bool is_bytes(measure by) {
  return by == measure::live || by == measure::peak || by == measure::allocated;
}

std::string value_text(measure by, std::int64_t value) {
  return is_bytes(by) ? bytes_text(value) : signed_count_text(value);
}

std::string signed_text(measure by, std::int64_t value) {
  return (value > 0 ? "+" : "") + value_text(by, value);
}

std::string share_text(std::int64_t before, std::int64_t change) {
  if (change == 0) return "the same";
  if (before <= 0) return "new";
  const double share = static_cast<double>(change) / static_cast<double>(before);
  return share < 10 ? fmt::format("{:+.1f} %", 100 * share) : fmt::format("{:.1f} times as much", share + 1);
}

const char* measure_words(measure by) {
  switch (by) {
    case measure::live:
      return "live bytes";
    case measure::peak:
      return "bytes at the peak";
    case measure::allocated:
      return "allocated bytes";
    case measure::count:
      return "allocations";
    case measure::temporary:
      return "temporary allocations";
  }
  return "";
}

const char* kind_words(kind which) {
  constexpr std::array words = {"the same", "grew", "shrank", "appeared", "vanished"};
  return words[static_cast<std::size_t>(which)];
}

void write_profile_line(page& page, const char* label, const process_info& process) {
  page.line(fmt::format("{} {} (pid {}, ran {})", label,
                        cut_right(command_text(process.command, process.exe), page.width() - 30), process.pid,
                        seconds_text(process.duration_ns)),
            tone::bold);
}

void write_other_program(page& page, std::string_view before, std::string_view after) {
  if (before.empty() || after.empty() || file_part(before) == file_part(after)) return;
  page.paragraph(
      fmt::format("The programs have different names, {} and {}: their functions are matched as if they were one.",
                  terminal_text(file_part(before)), terminal_text(file_part(after))),
      0, tone::faint);
}

std::string recording_options(const process_info& process) {
  const std::string stacks = fmt::format("--stacks {}", terminal_text(process.stacks));
  return process.depth_limit == 0 ? stacks : fmt::format("{} --depth {}", stacks, process.depth_limit);
}

void write_other_recording(page& page, const process_info& before, const process_info& after) {
  const auto has_none = [](const process_info& process) { return process.stacks.empty() || process.stacks == "off"; };
  if (has_none(before) || has_none(after) || recording_options(before) == recording_options(after)) return;
  page.blank();
  page.paragraph(fmt::format("The old profile was recorded with {}, the new one with {}: the same calls can have other "
                             "stacks there.",
                             recording_options(before), recording_options(after)),
                 0);
}

// Of two profiles: without stacks on one side, each of the other's would seem to have appeared or vanished.
bool write_without_stacks(page& page, const process_info& before, const process_info& after) {
  const bool none_before = before.stacks == "off";
  if (none_before == (after.stacks == "off")) return false;
  page.blank();
  page.paragraph(fmt::format("The {} profile has no stacks, for it was recorded with --stacks off: there is nothing to "
                             "compare but the totals.",
                             none_before ? "old" : "new"),
                 0);
  return true;
}

void write_lost_stacks(page& page, const char* which, const profile& p) {
  constexpr double share_worth_a_word = 0.01;
  const auto text = lost_stacks_text(p, share_worth_a_word);
  if (text.empty()) return;
  page.blank();
  page.paragraph(fmt::format("In the {} profile {}: its places hold less than they did.", which, text), 0, tone::alarm);
}

// At a snapshot, nobody knows.
bool knows_mapped(const profile& before, const profile& after) {
  if (before.mapped && after.mapped) return true;
  const auto has_ended = [](const profile& p) { return p.process.ended != ending::running; };
  return (before.mapped || after.mapped) && has_ended(before) && has_ended(after);
}

std::int64_t most_mapped(const profile& p) {
  return p.mapped ? static_cast<std::int64_t>(p.mapped->peak_bytes) : 0;
}

void write_totals(page& page, const diff::comparison& compared) {
  const counters& before = compared.total_before();
  const counters& after = compared.total_after();
  grid table({{"", 22, cell::name}, {"before", 16}, {"after", 16}, {"change", 16}, {"", 0, cell::words}});
  const auto row = [&](const char* label, std::int64_t old_value, std::int64_t new_value, measure by) {
    const std::int64_t change = new_value - old_value;
    table.add({label, value_text(by, old_value), value_text(by, new_value), change == 0 ? "" : signed_text(by, change),
               share_text(old_value, change)});
  };
  const bool goes_on = compared.after().process.ended == ending::running;
  row(goes_on ? "live" : "live at the end", before.live_bytes(), after.live_bytes(), measure::live);
  row("  in blocks", before.live_blocks(), after.live_blocks(), measure::count);
  row("peak", diff::value_before(compared, measure::peak), diff::value_after(compared, measure::peak), measure::peak);
  for (const measure by : {measure::allocated, measure::count, measure::temporary}) {
    constexpr std::array labels = {"", "", "allocated", "allocations", "temporary"};
    row(labels[static_cast<std::size_t>(by)], value_of(before, by), value_of(after, by), by);
  }
  if (knows_mapped(compared.before(), compared.after()))
    row("mapped itself (peak)", most_mapped(compared.before()), most_mapped(compared.after()), measure::peak);
  page.table(table);
  const std::uint64_t error = compared.before().peak.error_bytes + compared.after().peak.error_bytes;
  if (error != 0)
    page.line(fmt::format("  (the change of the peak is true to within {})", bytes_text(error)), tone::faint);
}

// As in the report: between two functions of the program stand a dozen of these.
void leave_out_rust(std::vector<diff::shown_frame>& frames, analyse::machinery& machinery) {
  if (frames.empty() || machinery.is_rust(frames.front().place)) return;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const diff::shown_frame frame = frames[i];
    if (!machinery.is_rust(frame.place)) {
      frames[kept.size()] = {frame.frame, frame.place};
      kept.push_back(i);
    }
    std::uint32_t of_run = 0;
    while (of_run < kept.size() && kept[kept.size() - 1 - of_run] + frame.cycle > i) ++of_run;
    if (of_run == 0) continue;
    frames[kept.size() - 1].cycle = of_run;
    frames[kept.size() - 1].times = frame.times;
  }
  frames.resize(kept.size());
}

analyse::caller caller_of(const profile& p, const diff::shown_frame& frame) {
  analyse::caller caller;
  caller.frame = frame.place;
  if (const std::uint32_t line = analyse::line_number(p, frame.place); line != 0) caller.lines.push_back(line);
  caller.cycle = frame.cycle;
  caller.times = frame.times;
  return caller;
}

// Behind the name of each place.
std::vector<std::string> words_behind(const page& page, const diff::comparison& compared,
                                      std::span<const diff::place_change> places) {
  std::vector<shown_name> names(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].frame) continue;
    const diff::stack_change& largest = compared.stacks()[places[i].stacks.front()];
    for (const auto& frame : compared.frames_of(largest)) {
      if (frame.frame != *places[i].frame) continue;
      const profile& p = compared.shown_in(largest);
      names[i] = {frame_line(p, margin, caller_of(p, frame), page.width()), compared.frames()[frame.frame].function};
      break;
    }
  }
  return distinguishing_words(names);
}

// The stack that changed most in a place, from there outward. `place_words` stand behind the place's name.
void write_stack(page& page, const diff::comparison& compared, const diff::stack_change& change,
                 analyse::machinery& machinery, std::uint32_t place, const std::string& place_words) {
  const profile& p = compared.shown_in(change);
  auto frames = compared.frames_of(change);
  const auto first = std::find_if_not(frames.begin(), frames.end(),
                                      [&](const auto& frame) { return machinery.is_wrapper(frame.place); });
  if (first != frames.end()) frames.erase(frames.begin(), first);
  leave_out_rust(frames, machinery);
  const std::size_t end = std::min(frames.size(), frames_shown);
  for (std::size_t i = 0; i < end; ++i) {
    const analyse::caller caller = caller_of(p, frames[i]);
    std::string words = compared.frames()[frames[i].frame].any_nameless ? " and other nameless code" : "";
    if (frames[i].frame == place) words += place_words;
    if (caller.cycle > 1) words += fmt::format(" (the {} above x{})", caller.cycle, caller.times);
    page.line(frame_line(p, i == 0 ? margin : fmt::format("{}  ", margin), caller, page.width(), words));
  }
  if (end < frames.size()) {
    page.line(fmt::format("{}  ... ({})", margin, counted(frames.size() - end, "more caller", "more callers")),
              tone::faint);
  }
  if (!change.scope->empty()) {
    std::string path;
    for (const auto& name : *change.scope) path += (path.empty() ? "" : " / ") + terminal_text(name);
    page.line(cut_right(fmt::format("{}  in scope {}", margin, path), page.width()), tone::faint);
  }
}

void write_places(page& page, const diff::comparison& compared, const diff_text_options& options) {
  const measure by = options.by;
  const auto places = diff::rank_places(compared, by);
  page.heading(fmt::format("What changed most, by {}", measure_words(by)));
  std::array<std::uint64_t, 5> kinds{};
  for (const auto& change : compared.stacks()) ++kinds[static_cast<std::size_t>(diff::kind_of(change, by))];
  std::string line = "  stacks:";
  for (const kind which : {kind::grew, kind::appeared, kind::shrank, kind::vanished, kind::same}) {
    const auto count = kinds[static_cast<std::size_t>(which)];
    const char* same = count == 1 ? "is the same" : "are the same";
    line += fmt::format("{} {} {}", which == kind::grew ? "" : ",", count_text(count),
                        which == kind::same ? same : kind_words(which));
  }
  page.line(line, tone::faint);
  if (places.empty()) page.line("  Nothing.");

  analyse::machinery before(compared.before());
  analyse::machinery after(compared.after());
  const std::size_t shown = std::min(places.size(), options.top != 0 ? options.top : places_usually);
  const auto words = words_behind(page, compared, std::span(places).first(shown));
  for (std::size_t i = 0; i < shown; ++i) {
    const diff::place_change& place = places[i];
    const std::int64_t change = diff::difference(place.before, place.after, by);
    std::string amount =
        fmt::format("{:3}. {}  from {} to {}", i + 1, signed_text(by, change),
                    value_text(by, value_of(place.before, by)), value_text(by, value_of(place.after, by)));
    if (by != measure::count) {
      const std::int64_t more = diff::difference(place.before, place.after, measure::count);
      amount += more == 0 ? "; as many allocations"
                          : fmt::format("; {} allocation{}", signed_text(measure::count, more),
                                        std::abs(more) == 1 ? "" : "s");
    }
    page.line(amount, tone::bold);
    const diff::stack_change& largest = compared.stacks()[place.stacks.front()];
    if (!place.frame) {
      page.line(fmt::format("{}(allocations without a stack)", margin));
      continue;
    }
    write_stack(page, compared, largest, &compared.shown_in(largest) == &compared.after() ? after : before,
                *place.frame, words[i]);
    const std::int64_t by_largest = diff::difference(largest.before, largest.after, by);
    const std::string how = kind_words(kind_of(largest, by));
    if (place.stacks.size() == 1) {
      page.line(fmt::format("{}this stack {}", margin, how), tone::faint);
    } else {
      page.line(fmt::format("{}this stack {}: {}; {}: {}", margin, how, signed_text(by, by_largest),
                            counted(place.stacks.size() - 1, "more stack of the place", "more stacks of the place"),
                            signed_text(by, change - by_largest)),
                tone::faint);
    }
  }
  if (shown < places.size()) {
    std::int64_t rest = 0;
    for (std::size_t i = shown; i < places.size(); ++i) rest += diff::difference(places[i].before, places[i].after, by);
    page.line(fmt::format("     {} in {}", rest == 0 ? "nothing, in all," : signed_text(by, rest),
                          counted(places.size() - shown, "more place", "more places")),
              tone::faint);
  }
}

}  // namespace

std::string gate_text(const gate_result& result) {
  const std::int64_t change = result.after - result.before;
  const std::string_view name =
      result.by == measure::count ? "allocations" : analyse::measure_names[static_cast<std::size_t>(result.by)];
  const std::string values =
      fmt::format("from {} to {}", value_text(result.by, result.before), value_text(result.by, result.after));
  if (change <= 0) return fmt::format("{} did not grow: {}", name, values);
  std::string text = fmt::format("{} grew by {}", name, value_text(result.by, change));
  if (result.before > 0) text += fmt::format(" ({})", share_text(result.before, change));
  const std::string limit = terminal_text(result.gate.text);
  return fmt::format("{}, {}: {} than --fail-above {} allows", text, values, result.worse ? "more" : "not more", limit);
}

std::string diff_text(const diff::comparison& compared, std::span<const gate_result> gates,
                      const diff_text_options& options) {
  std::string out;
  page page(out, options.style);
  write_profile_line(page, "before", compared.before().process);
  write_profile_line(page, "after ", compared.after().process);
  write_other_program(page, compared.before().process.exe, compared.after().process.exe);
  page.blank();
  write_totals(page, compared);
  const bool totals_only = write_without_stacks(page, compared.before().process, compared.after().process);
  if (!totals_only) {
    write_other_recording(page, compared.before().process, compared.after().process);
    write_lost_stacks(page, "old", compared.before());
    write_lost_stacks(page, "new", compared.after());
  }
  if (!totals_only) write_places(page, compared, options);
  if (!gates.empty()) {
    page.heading("Limits");
    for (const auto& result : gates) page.paragraph(gate_text(result), 2, result.worse ? tone::alarm : tone::plain);
  }
  if (!totals_only && !options.old_file.empty()) {
    page.blank();
    page.command(fmt::format("heapledger html --diff {} {}", terminal_text(shell_file(options.old_file)),
                             terminal_text(shell_file(options.new_file))));
    page.line("      as a page: a flame graph of what grew and what shrank", tone::faint);
  }
  return out;
}

}  // namespace heapledger::report
