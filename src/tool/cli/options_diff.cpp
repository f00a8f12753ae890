// The syntax of diff.
#include <fmt/format.h>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"
#include "tool/diff/gate.hpp"

namespace heapledger::cli {
namespace {

void check_limit(const std::string& text, const std::string& by) {
  const auto gate = diff::parse_gate(text);
  if (!gate) {
    throw usage_error(
        fmt::format("--fail-above: '{}' is no limit; write [MEASURE=]AMOUNT, as 5%, 64KiB, peak=2.5%, live=0 or "
                    "allocations=1000; a measure is peak, live, allocated, allocations or temporary",
                    text));
  }
  const auto measure = gate->by.value_or(analyse::parse_measure(by).value_or(analyse::measure::peak));
  const bool counts = measure == analyse::measure::count || measure == analyse::measure::temporary;
  const bool has_unit = text.back() != '%' && (text.back() < '0' || text.back() > '9');
  if (counts && has_unit) {
    throw usage_error(fmt::format("--fail-above: '{}' limits a number of allocations, which has no unit", text));
  }
}

}  // namespace

diff_options parse_diff(std::span<const std::string> given_words) {
  diff_options options;
  std::string top;
  command_line line("diff", "[options] OLD NEW");
  line.add_argument("OLD", options.old_file, "the profile to compare with");
  line.add_argument("NEW", options.new_file, "the profile that may have become worse");
  line.add_flag("--json", options.json, "one JSON object: every stack that changed");
  line.add_option("--by", "MEASURE", options.by,
                  "order by peak, live, allocated, count or temporary (peak; of two moments of one process, live)");
  line.add_option("--top", "N", top, "so many places, or stacks and functions in JSON (10; all in JSON)");
  line.add_list("--fail-above", "LIMIT", options.fail_above,
                "exit with 1 if NEW is worse by more: 5%, live=64KiB, allocations=0; may be repeated");
  line.add_debug_options(options.debug);
  line.parse({given_words.begin(), given_words.end()});

  if (line.count("--by") != 0) {
    choice_value("--by", options.by, {"peak", "live", "allocated", "count", "temporary"});
  }
  if (line.count("--top") != 0) options.top = number_value("--top", top, 1, UINT32_MAX);
  for (const auto& text : options.fail_above) check_limit(text, options.by);
  if (options.new_file.empty()) throw usage_error("which two? type: heapledger diff OLD.hlp NEW.hlp");
  return options;
}

}  // namespace heapledger::cli
