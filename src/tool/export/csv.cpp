// Comma-separated values as RFC 4180 has them: a row for every stack, with the place that a reader looks for first.
#include <algorithm>
#include <array>

#include "tool/analyse/lifetimes.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/export/folded_text.hpp"
#include "tool/export/format.hpp"
#include "tool/export/names.hpp"
#include "tool/export/text_out.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::exports {
namespace {

// A spreadsheet takes a cell that begins like this for a formula, and would run what a function's name says.
bool looks_like_formula(std::string_view text) {
  if (text.empty()) return false;
  constexpr std::array<std::string_view, 4> wide = {"\uff1d", "\uff0b", "\uff0d", "\uff20"};  // = + - @, full width
  return std::string_view("=+-@").find(text.front()) != std::string_view::npos ||
         std::any_of(wide.begin(), wide.end(), [&](std::string_view sign) { return text.starts_with(sign); });
}

std::string cell(std::string_view text) {
  std::string quoted = looks_like_formula(text) ? "\"'" : "\"";
  quoted.reserve(quoted.size() + text.size() + 1);
  for (std::size_t end = 0; (end = text.find('"')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    quoted += text.substr(0, end + 1);
    quoted += '"';
  }
  quoted += text;
  quoted += '"';
  return quoted;
}

std::string seconds(std::optional<std::int64_t> ns) {
  return ns ? report::json_seconds(*ns) : std::string();
}

}  // namespace

notes write_csv(const profile& p, std::optional<analyse::measure> by, const sink& out) {
  text_out text(out);
  safe_names names(p);
  folded_text folded(p);
  analyse::machinery machinery(p);
  text.put(
      "stack,scope,allocations,frees,temporaries,reallocations,allocated_bytes,freed_bytes,live_blocks,live_bytes,"
      "peak_bytes,function,file,line,module,frames,mean_lifetime,mean_age\r\n");
  for (const std::uint32_t index : analyse::rank_stacks(p.stacks, by.value_or(analyse::measure::peak), 0)) {
    const stack_entry& stack = p.stacks[index];
    const counters& count = stack.count;
    const std::string scope = scope_path(stack.scope);
    text.add("{},{},{},{},{},{},{},{},{},{},{},", stack.id, scope.empty() ? "" : cell(scope), count.allocations,
             count.frees, count.temporaries, count.reallocations, count.allocated_bytes, count.freed_bytes,
             count.live_blocks(), count.live_bytes(), count.peak_bytes);
    const auto frames = analyse::expand_stack(p, stack.node, machinery.first_visible(stack.node) + 1);
    if (frames.empty()) {
      text.put(",,,,");
    } else {
      const analyse::frame_ref& place = frames.back();
      const std::uint32_t line = analyse::line_number(p, place);
      text.add("{},{},{},{},", cell(names.function(place)), cell(names.file(place)),
               line == 0 ? "" : std::to_string(line), cell(names.module(analyse::module_index(p, place))));
    }
    text.add("{},{},{}\r\n", cell(folded.stack(stack)), seconds(analyse::mean_life_ns(count.life)),
             seconds(analyse::mean_age_ns(count.life, p.process.duration_ns)));
  }
  text.flush();
  return {};
}

}  // namespace heapledger::exports
