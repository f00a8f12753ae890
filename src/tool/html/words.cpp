#include "tool/html/words.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/analyse/error_places.hpp"
#include "tool/analyse/groups.hpp"
#include "tool/analyse/mismatches.hpp"
#include "tool/analyse/symbol_gaps.hpp"
#include "tool/html/places.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/json.hpp"
#include "tool/report/json_text.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/names.hpp"
#include "tool/report/overview.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/tables.hpp"
#include "tool/report/troubles.hpp"
#include "tool/report/units.hpp"

namespace heapledger::html {
namespace {

std::string text_list(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const auto& text : texts) list += (list.size() > 1 ? "," : "") + report::json_string(text);
  return list + "]";
}

std::string symbol_lines(const profile& p) {
  std::vector<std::string> lines;
  for (const auto& gap : analyse::symbol_gaps(p)) {
    const module_info& module = p.modules[gap.module];
    lines.push_back(fmt::format(
        "{}: {} of {} without {}{}", report::terminal_text(report::file_part(module.path)),
        report::count_text(gap.without_name != 0 ? gap.without_name : gap.without_line),
        report::counted(gap.places, "place", "places"), gap.without_name != 0 ? "a function name" : "file and line",
        module.symbol_advice.empty() ? "" : "; " + report::terminal_text(module.symbol_advice)));
  }
  return text_list(lines);
}

}  // namespace

std::string words(const profile& p, const profile& over_time) {
  analyse::machinery machinery(p);
  const auto error_words = [&](const auto& of, std::uint32_t doubt) {
    return report::error_text(of.kind, of.count, of.allocated_by, of.freed_by) +
           (doubt == none ? "" : " " + report::doubt_text(p, doubt));
  };
  std::vector<std::string> errors;
  for (const auto& [error, doubt] : analyse::judged_errors(p)) errors.push_back(error_words(error, doubt));
  std::vector<std::string> error_kinds;
  for (const auto& kind : analyse::error_kinds(p, machinery)) error_kinds.push_back(error_words(kind, kind.doubt));
  auto losses = report::loss_texts(p);
  if (auto text = report::nothing_seen_text(p); !text.empty()) losses.insert(losses.begin(), std::move(text));
  std::vector<std::string> resident;
  for (const auto& text : {report::mapped_share_text(p), report::allocator_share_text(p)})
    if (!text.empty()) resident.push_back(text);
  std::vector<std::string> modules;
  for (const auto& module : p.modules) modules.push_back(report::terminal_text(module.path));
  std::vector<std::string> threads;
  for (const auto& thread : p.threads) threads.push_back(report::terminal_text(thread.name));
  const auto sites = analyse::find_sites(p, machinery);
  return fmt::format(
      R"({{"name":{},"command":{},"ending":{},"host":{},"losses":{},"errors":{},"symbols":{},"modules":{},"threads":{},)"
      R"("error_kinds":{},"nameless":{},"dead_ends":{},"notes":{},"resident":{},"places":{},"symbolized":{}}})",
      report::json_string(report::terminal_text(report::file_part(p.process.exe))),
      report::json_string(report::command_text(p.process.command, p.process.exe)),
      report::json_string(report::ending_text(p)), report::json_string(report::terminal_text(p.process.host)),
      text_list(losses), text_list(errors), symbol_lines(p), text_list(modules), text_list(threads),
      text_list(error_kinds), report::json_string(report::missing_names_text(p, sites)),
      report::json_string(report::dead_end_text(p)), text_list(report::process_notes(p.process)), text_list(resident),
      places_over_time(over_time), p.symbolized);
}

std::string small_report(profile& p) {
  std::map<std::vector<std::string>, counters> sums;
  for (const auto& stack : p.stacks) sums[stack.scope] += stack.count;
  p.stacks.clear();
  p.stack_timeline.clear();                  // words() tells of places
  constexpr std::size_t errors_shown = 200;  // by the page
  for (std::size_t i = errors_shown; i < p.errors.size(); ++i) p.errors[i].freed_node = 0;
  for (const auto& [scope, count] : sums) {
    p.stacks.push_back({static_cast<std::uint32_t>(p.stacks.size()), 0, scope, count});
  }
  std::string text;
  report::write_json(p, {analyse::measure::live, 0}, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace heapledger::html
