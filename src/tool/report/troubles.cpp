#include "tool/report/troubles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/analyse/dead_ends.hpp"
#include "tool/analyse/error_places.hpp"
#include "tool/analyse/symbol_gaps.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/site_section.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t error_places_shown = 3;  // of each kind
constexpr std::size_t modules_shown = 4;
constexpr double share_worth_a_word = 0.20;

std::string advice_behind(const module_info& module, std::string_view separator) {
  return module.symbol_advice.empty() ? "" : fmt::format("{}{}", separator, terminal_text(module.symbol_advice));
}

void write_freers(page& page, const profile& p, analyse::machinery& machinery, std::string_view kind,
                  const analyse::error_place& place) {
  if (place.freers.empty()) return;
  const auto& most = place.freers.front();
  const std::string how = kind == "double-free" ? "freed again by"
                          : kind == "overflow"  ? "found when freed by"
                                                : "freed by";
  page.line(
      most.count == place.count ? "  and " + how : fmt::format("  and {} of them {}", count_text(most.count), how),
      tone::faint);
  write_stack(page, p, machinery, most.index);
  if (const std::size_t others = place.freers.size() - 1; others != 0)
    page.line(fmt::format("     and the others by {}", counted(others, "other stack", "other stacks")), tone::faint);
}

}  // namespace

std::string doubt_text(const profile& p, std::uint32_t module) {
  return fmt::format(
      "This may be no mistake: {} has operators new and delete of its own, which come here as malloc and free.",
      terminal_text(file_part(p.modules[module].path)));
}

void write_errors(page& page, const profile& p, analyse::machinery& machinery) {
  const auto kinds = analyse::error_kinds(p, machinery);
  if (kinds.empty()) return;
  std::uint64_t all = 0;
  for (const auto& kind : kinds) all += kind.count;
  page.blank();
  page.line(fmt::format("ERRORS in the program: {}", count_text(all)), tone::alarm);
  for (const auto& kind : kinds) {
    page.paragraph(error_text(kind.kind, kind.count, kind.allocated_by, kind.freed_by), 2);
    if (kind.doubt != none) page.paragraph(doubt_text(p, kind.doubt), 2, tone::faint);
    const std::size_t shown = std::min(kind.places.size(), error_places_shown);
    for (std::size_t i = 0; i < shown; ++i) {
      const analyse::error_place& place = kind.places[i];
      if (place.stacks.empty()) continue;
      page.line(place.count == kind.count ? "  The block was allocated by"
                                          : fmt::format("  {} of {} blocks {} allocated by", count_text(place.count),
                                                        count_text(kind.count), place.count == 1 ? "was" : "were"),
                tone::faint);
      write_stack(page, p, machinery, p.stacks[place.stacks.front().index].node);
      if (const std::size_t others = place.stacks.size() - 1; others != 0)
        page.line(fmt::format("     and by {} to that place", counted(others, "other way", "other ways")), tone::faint);
      write_freers(page, p, machinery, kind.kind, place);
    }
    if (const std::size_t more = kind.places.size() - shown; more != 0)
      page.line(fmt::format("  {}: --json lists them", counted(more, "more place", "more places")), tone::faint);
  }
}

void write_losses(page& page, const profile& p) {
  const auto texts = loss_texts(p);
  if (texts.empty()) return;
  page.heading("What these numbers do not show");
  for (const std::string& text : texts) page.paragraph(text, 2);
}

std::string missing_names_text(const profile& p, const std::vector<analyse::site>& sites) {
  if (!p.symbolized) return {};
  const auto nameless = analyse::nameless_at_peak(p, sites);
  const auto share =
      static_cast<double>(nameless.bytes) / static_cast<double>(std::max<std::int64_t>(1, p.totals().peak_bytes));
  if (nameless.module == none || share < share_worth_a_word) return {};
  const module_info& module = p.modules[nameless.module];
  return fmt::format("{:.0f} % of the bytes at the peak belong to functions without a name, most of them in {}{}.",
                     100 * std::min(share, 1.0), terminal_text(file_part(module.path)), advice_behind(module, ": "));
}

void write_missing_names(page& page, const profile& p, const std::vector<analyse::site>& sites) {
  const auto text = missing_names_text(p, sites);
  if (text.empty()) return;
  page.blank();
  page.paragraph(text + " See \"Symbols that are missing\" below.", 2);
}

void write_lost_stacks(page& page, const profile& p) {
  const auto text = lost_stacks_text(p, share_worth_a_word);
  if (text.empty()) return;
  page.blank();
  page.paragraph(text + ". See \"What these numbers do not show\" below.", 2, tone::alarm);
}

std::string dead_end_text(const profile& p) {
  const auto ends = analyse::find_dead_ends(p);
  const counters all = p.totals();
  const auto share = [](auto part, auto whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  const double of_peak = std::min(share(ends.count.peak_bytes, all.peak_bytes), 1.0);
  const double of_count = share(ends.count.allocations, all.allocations);
  if (std::max(of_peak, of_count) < share_worth_a_word) return {};
  return fmt::format(
      "{:.0f} % of the {} have stacks that end early, most of them in {}, for want of unwind tables. Record with "
      "--stacks jit: it goes on there by frame pointers.",
      100 * std::max(of_peak, of_count), of_peak >= of_count ? "bytes at the peak" : "allocations",
      ends.module == none ? "code that the program generated" : terminal_text(file_part(p.modules[ends.module].path)));
}

void write_dead_ends(page& page, const profile& p) {
  const std::string text = dead_end_text(p);
  if (text.empty()) return;
  page.blank();
  page.paragraph(text, 2);
}

void write_symbol_advice(page& page, const profile& p) {
  if (p.locations.empty()) return;
  if (!p.symbolized) {
    page.heading("Symbols");
    page.paragraph("This profile has no symbols: frames are module and offset, as addr2line -e MODULE takes them.", 2);
    return;
  }
  const auto gaps = analyse::symbol_gaps(p);
  if (gaps.empty()) return;
  page.heading("Symbols that are missing");
  for (std::size_t i = 0; i < std::min(gaps.size(), modules_shown); ++i) {
    const auto& gap = gaps[i];
    const std::string name = terminal_text(file_part(p.modules[gap.module].path));
    const std::string places = counted(gap.places, "place", "places");
    const std::string advice = advice_behind(p.modules[gap.module], "; ");
    page.paragraph(
        gap.without_name != 0
            ? fmt::format("{}: {} of {} without a function name{}", name, count_text(gap.without_name), places, advice)
            : fmt::format("{}: {} of {} without file and line{}", name, count_text(gap.without_line), places, advice),
        2);
  }
  if (gaps.size() > modules_shown) {
    page.line(fmt::format("  {}", counted(gaps.size() - modules_shown, "more module", "more modules")), tone::faint);
  }
  page.paragraph(
      "Build with -g, or install the package with debug symbols (those named -dbgsym are in Debian's archive of debug "
      "packages, which apt must be told of) and read again with --debug-path /usr/lib/debug, or with the folder that "
      "the debug files are in; or with --debuginfod, which fetches them from the servers in DEBUGINFOD_URLS.",
      2, tone::faint);
}

void write_profiler(page& page, const profile& p) {
  const profiler_info& own = p.profiler;
  page.heading("heapledger itself");
  page.paragraph(fmt::format("{} of tables and {} of tags, for {} (a tree of {}).",
                             bytes_text(own.segment_bytes + own.private_bytes), bytes_text(own.tag_bytes),
                             counted(p.stacks.size(), "stack", "stacks"),
                             counted(own.nodes - std::min<std::uint64_t>(own.nodes, 1), "frame", "frames")),
                 2);
  if (own.checked_stacks != 0) {
    page.paragraph(
        fmt::format("Self-check: the stacks of {} of {} were walked a second time by another unwinder, {} differed.",
                    count_text(own.checked_stacks), counted(p.totals().allocations, "allocation", "allocations"),
                    count_text(own.checked_differences)),
        2);
  }
}

}  // namespace heapledger::report
