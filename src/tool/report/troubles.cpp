#include "tool/report/troubles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/analyse/mismatches.hpp"
#include "tool/analyse/symbol_gaps.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/site_section.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t errors_shown = 10;
constexpr std::size_t modules_shown = 4;
constexpr double nameless_share_worth_a_word = 0.20;

std::string advice_behind(const module_info& module, std::string_view separator) {
  return module.symbol_advice.empty() ? "" : fmt::format("{}{}", separator, terminal_text(module.symbol_advice));
}

std::string doubt_text(const profile& p, std::uint32_t module) {
  return fmt::format(
      "This may be no mistake: {} has operators new and delete of its own, which come here as malloc and free.",
      terminal_text(file_part(p.modules[module].path)));
}

}  // namespace

void write_errors(page& page, const profile& p, analyse::machinery& machinery) {
  const auto errors = analyse::judged_errors(p);
  if (errors.empty()) return;
  std::uint64_t all = 0;
  for (const auto& judged : errors) all += judged.error.count;
  page.blank();
  page.line(fmt::format("ERRORS in the program: {}", count_text(all)), tone::alarm);
  for (std::size_t i = 0; i < std::min(errors.size(), errors_shown); ++i) {
    const auto& [error, doubt] = errors[i];
    page.paragraph(error_text(error.kind, error.count), 2);
    if (doubt != none) page.paragraph(doubt_text(p, doubt), 2, tone::faint);
    const auto stack = std::find_if(p.stacks.begin(), p.stacks.end(),
                                    [id = error.stack](const stack_entry& entry) { return entry.id == id; });
    if (stack == p.stacks.end() || stack->node == 0) continue;
    page.line("  The block was allocated by", tone::faint);
    write_stack(page, p, machinery, stack->node);
  }
  if (errors.size() > errors_shown) {
    page.line(fmt::format("  {}: --json lists them", counted(errors.size() - errors_shown, "more", "more")),
              tone::faint);
  }
}

void write_losses(page& page, const profile& p) {
  if (p.profiler.losses.empty()) return;
  page.heading("What these numbers do not show");
  for (const auto& [name, count] : p.profiler.losses) page.paragraph(loss_text(name, count), 2);
}

void write_missing_names(page& page, const profile& p, const std::vector<analyse::site>& sites) {
  if (!p.symbolized) return;
  const auto nameless = analyse::nameless_at_peak(p, sites);
  const auto share =
      static_cast<double>(nameless.bytes) / static_cast<double>(std::max<std::int64_t>(1, p.totals().peak_bytes));
  if (nameless.module == none || share < nameless_share_worth_a_word) return;
  const module_info& module = p.modules[nameless.module];
  page.blank();
  page.paragraph(
      fmt::format("{:.0f} % of the bytes at the peak belong to functions without a name, most of them in {}{}. "
                  "See \"Symbols that are missing\" below.",
                  100 * std::min(share, 1.0), terminal_text(file_part(module.path)), advice_behind(module, ": ")),
      2);
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
      "the debug files are in.",
      2, tone::faint);
}

void write_profiler(page& page, const profile& p) {
  const profiler_info& own = p.profiler;
  page.heading("heapledger itself");
  page.paragraph(fmt::format("{} of tables and {} of tags, for {} (a tree of {}).",
                             bytes_text(own.segment_bytes + own.private_bytes), bytes_text(own.tag_bytes),
                             counted(own.accounts, "stack", "stacks"), counted(own.nodes, "frame", "frames")),
                 2);
  if (own.checked_stacks != 0) {
    page.paragraph(fmt::format("Self-check: {} stacks were walked a second time by another unwinder, {} differed.",
                               count_text(own.checked_stacks), count_text(own.checked_differences)),
                   2);
  }
}

}  // namespace heapledger::report
