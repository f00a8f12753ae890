#include "tool/report/leaks_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tool/analyse/leak_place.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/leaks/entry.hpp"
#include "tool/profile/saturating.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/overview.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/site_section.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t usual_entries = 10;

using entry_list = std::vector<const leak_entry*>;

entry_list with_verdict(std::span<const leak_entry> entries, std::string_view verdict) {
  entry_list result;
  for (const auto& entry : entries)
    if (entry.verdict == verdict) result.push_back(&entry);
  return result;
}

std::string sizes_text(const leak_entry& leak) {
  if (leak.most_bytes == 0) return {};
  if (leak.least_bytes == leak.most_bytes) return fmt::format(" of {}", bytes_text(leak.most_bytes));
  return fmt::format(" of {} to {}", bytes_text(leak.least_bytes), bytes_text(leak.most_bytes));
}

std::string interval_text(std::int64_t low, std::int64_t high) {
  if (bytes_text(low) == bytes_text(high)) return {};
  return fmt::format(" ({} to {})", bytes_text(low), bytes_text(high));
}

bool has_witness(const leak_entry& leak, std::string_view name) {
  return std::find(leak.witnesses.begin(), leak.witnesses.end(), name) != leak.witnesses.end();
}

std::string evidence_text(const leak_entry& leak) {
  auto text = fmt::format("{} of {} untouched", count_text(leak.untouched),
                          counted(leak.sampled, "watched block", "watched blocks"));
  if (leak.oldest_age_ns > 0) text += fmt::format(", the oldest for {}", seconds_text(leak.oldest_age_ns));
  return text;
}

void write_frames(page& page, const profile& p, analyse::machinery& machinery, const leak_entry& leak) {
  if (leak.pool)
    page.line(fmt::format("     chunks of the pool {}", terminal_text(shell_quoted(p.pools[*leak.pool].name))),
              tone::faint);
  const auto node = analyse::place_of(p, leak).value_or(0);
  if (node == 0)
    page.line("     (allocations without a stack)");
  else
    write_stack(page, p, machinery, node);
}

void write_leak(page& page, std::size_t number, const leak_entry& leak) {
  page.line(fmt::format("{:3}. {} lost{}, {} an hour", number, bytes_text(leak.bytes),
                        interval_text(leak.bytes_low, leak.bytes_high), bytes_text(leak.bytes_per_hour)),
            tone::bold);
  page.paragraph(
      fmt::format("{}{}; {}", counted(leak.blocks, "block", "blocks"), sizes_text(leak), evidence_text(leak)), 5,
      tone::faint);
  if (has_witness(leak, "unreachable")) page.line("     nothing points to them any more", tone::faint);
  if (has_witness(leak, "reachable"))
    page.line("     something still points to them, if only other lost blocks", tone::faint);
}

// What had grown when it was judged, and has shrunk since.
entry_list still_grown(entry_list list) {
  std::erase_if(list, [](const leak_entry* leak) { return leak->blocks == 0 && leak->bytes <= 0; });
  return list;
}

void write_grown(page& page, std::size_t number, const leak_entry& leak) {
  page.line(fmt::format("{:3}. {} more than at the start, in {}{}", number, bytes_text(leak.bytes),
                        counted(leak.blocks, "block", "blocks"), sizes_text(leak)),
            tone::bold);
  if (leak.sampled != 0)
    page.paragraph(
        fmt::format("{} of {} {} used again{}", count_text(leak.sampled - leak.untouched),
                    counted(leak.sampled, "watched block", "watched blocks"), leak.sampled == 1 ? "was" : "were",
                    leak.growth_stopped ? "; it does not grow any more" : ""),
        5, tone::faint);
}

void write_freed(page& page, std::size_t number, const leak_entry& leak) {
  page.line(fmt::format("{:3}. about {}{}, in about {}{}", number, bytes_text(leak.bytes),
                        interval_text(leak.bytes_low, leak.bytes_high), counted(leak.blocks, "block", "blocks"),
                        sizes_text(leak)),
            tone::bold);
  page.paragraph(fmt::format("{} until then", evidence_text(leak)), 5, tone::faint);
}

template <class Write>
void write_list(page& page, const profile& p, analyse::machinery& machinery, const entry_list& list, std::size_t top,
                Write&& write) {
  const std::size_t shown = std::min(list.size(), top == 0 ? usual_entries : top);
  for (std::size_t i = 0; i < shown; ++i) {
    write(page, i + 1, *list[i]);
    write_frames(page, p, machinery, *list[i]);
  }
  if (shown < list.size())
    page.line(fmt::format("     {} more; --top {} shows {}", count_text(list.size() - shown), list.size(),
                          list.size() - shown == 1 ? "it" : "them"),
              tone::faint);
}

void write_head(page& page, const profile& p, const leak_info& watch) {
  page.line(command_text(p.process.command, p.process.exe), tone::bold);
  page.paragraph(
      fmt::format("pid {}, watched for {}; {}", p.process.pid, seconds_text(watch.duration_ns), ending_text(p.process)),
      0);
  if (!watch.obstacle.empty()) page.paragraph(terminal_text(watch.obstacle), 0, tone::alarm);
}

void write_leaks(page& page, const profile& p, const leak_info& watch, analyse::machinery& machinery,
                 const entry_list& leaks, const leaks_text_options& options) {
  if (leaks.empty()) {
    const bool is_told = watch.obstacle.empty();
    const bool is_empty = leaks::watched_nothing(watch);
    page.heading(is_empty && !is_told ? "No leak found, for nothing was watched" : "No leak found");
    if (is_empty && is_told)
      page.paragraph(
          "No block was watched: none became old enough to be suspicious. Watch for longer, or say with "
          "--suspicious (of run: --leaks-suspicious) how many seconds are old.",
          2);
    return;
  }
  std::int64_t bytes = 0;
  std::int64_t per_hour = 0;
  for (const auto* leak : leaks) {
    bytes = saturating_sum(bytes, leak->bytes);
    per_hour = saturating_sum(per_hour, leak->bytes_per_hour);
  }
  page.blank();
  page.line(fmt::format("LEAKS at {}: about {} so far, {} an hour", counted(leaks.size(), "place", "places"),
                        bytes_text(bytes), bytes_text(per_hour)),
            tone::alarm);
  write_list(page, p, machinery, leaks, options.top, write_leak);
}

void write_watch(page& page, const leak_info& watch, const leaks_text_options& options) {
  page.heading("The watch");
  page.paragraph(
      fmt::format("{} watched at the end; {} acquitted; {} taken back.", counted(watch.watched, "block", "blocks"),
                  counted(watch.acquitted, "place", "places"), counted(watch.taken_back, "verdict", "verdicts")),
      2);
  if (options.suppressed != 0)
    page.paragraph(fmt::format("{} suppressed.", counted(options.suppressed, "place was", "places were")), 2);
  if (watch.reachability) {
    const auto& r = *watch.reachability;
    page.paragraph(
        r.obstacle.empty()
            ? fmt::format("Nothing points to {} of {}; {} were searched, and the program stood still for {}.",
                          count_text(r.unreachable), counted(r.blocks, "watched block", "watched blocks"),
                          bytes_text(r.searched_bytes), seconds_text(r.stopped_ns))
            : fmt::format("Whether anything points to the blocks is not known: {}", terminal_text(r.obstacle)),
        2);
  }
  for (const auto& [name, count] : watch.losses) page.paragraph(loss_text(name, count), 2);
}

// Places of pool chunks as if they were stacks: that is what the writer of stacks knows.
std::optional<profile> with_pool_places(const profile& p, std::span<const leak_entry> entries) {
  std::optional<profile> result;
  for (const auto& leak : entries) {
    if (!leak.pool) continue;
    if (!result) result = p;
    result->stacks.push_back({.id = none, .node = leak.node, .scope = {}, .count = {}});
  }
  return result;
}

void write_next(page& page, const leaks_text_options& options) {
  if (options.file.empty()) return;
  page.heading("Next");
  page.command(fmt::format("heapledger report --by live {}", terminal_text(shell_file(options.file))));
  page.line("      all that was never freed, leak or not", tone::faint);
}

}  // namespace

std::string leaks_text(const profile& given, std::span<const leak_entry> entries, const leaks_text_options& options) {
  const auto with_chunks = with_pool_places(given, entries);
  const profile& p = with_chunks ? *with_chunks : given;
  std::string out;
  page page(out, options.style);
  if (!p.leaks) {
    page.line(command_text(p.process.command, p.process.exe), tone::bold);
    page.paragraph(
        "The profile has no leak watch: that of heapledger leaks PID tells what it finds itself, and keeps nothing "
        "here. "
        "To have one in the profile: heapledger run --leaks -- PROGRAM, or, while heapledger run is there, heapledger "
        "start PID.",
        0);
    write_next(page, options);
    return out;
  }
  analyse::machinery machinery(p);
  write_head(page, p, *p.leaks);
  write_leaks(page, p, *p.leaks, machinery, with_verdict(entries, "leak"), options);
  auto retention = still_grown(with_verdict(entries, "retention"));
  const auto used = std::stable_partition(retention.begin(), retention.end(),
                                          [](const leak_entry* leak) { return leaks::was_freed_at_end(*leak); });
  if (const entry_list list(retention.begin(), used); !list.empty()) {
    page.heading("Grew, untouched, and was freed when the program ended");
    write_list(page, p, machinery, list, options.top, write_freed);
  }
  if (const entry_list list(used, retention.end()); !list.empty()) {
    page.heading("Grows, but is used (retention)");
    write_list(page, p, machinery, list, options.top, write_grown);
  }
  if (const auto list = still_grown(with_verdict(entries, "suspect")); !list.empty()) {
    page.heading("Grows, not decided yet (suspects)");
    write_list(page, p, machinery, list, options.top, write_grown);
  }
  write_watch(page, *p.leaks, options);
  write_next(page, options);
  return out;
}

}  // namespace heapledger::report
