// The syntax of `top`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"
#include "tool/live/view.hpp"

namespace heapledger::cli {

top_options parse_top(std::span<const std::string> given_words) {
  top_options options;
  std::string interval;
  std::string count;
  std::string rows;
  command_line line("top", "[options] [PID | PROFILE]");
  line.add_argument("PID", options.what, "a process (the only one under heapledger), or a profile");
  line.add_option("--interval", "MS", interval, "time between samples (1000)");
  line.add_option("--count", "N", count, "leave after so many samples");
  line.add_option("--by", "ORDER", options.by, "order by live, growth, churn, peak or leaks (live)");
  std::vector<const char*> kinds;
  for (const auto& each : live::views()) kinds.push_back(each.name);
  line.add_option("--per", "WHAT", options.per, fmt::format("what a row is: {} (stack)", fmt::join(kinds, ", ")));
  line.add_option("--top", "N", rows, "so many rows (10; on a screen, all that can be scrolled through)");
  line.add_flag("--json", options.json, "one JSON object a line for each sample");
  line.add_flag("--text", options.text, "text for each sample on a terminal, too");
  line.parse({given_words.begin(), given_words.end()});
  if (options.json && options.text) throw usage_error("--json and --text: one of the two");
  if (line.count("--interval") != 0)
    options.interval_ms = number_value("--interval", interval, 10, 3'600'000, "milliseconds");
  if (line.count("--count") != 0) options.count = number_value("--count", count, 1, UINT32_MAX);
  if (line.count("--top") != 0) options.top = number_value("--top", rows, 1, 1'000'000);
  if (line.count("--by") != 0) choice_value("--by", options.by, {"live", "growth", "churn", "peak", "leaks"});
  if (line.count("--per") != 0) choice_value("--per", options.per, kinds);
  for (const auto& each : live::views())
    for (std::size_t by = 0; by < std::size(live::order_names); ++by)
      if (each.name == options.per && options.by == live::order_names[by] &&
          !each.sorts_by(static_cast<live::order>(by)))
        throw usage_error(fmt::format("{} have no {} to go by", each.tab, options.by));
  return options;
}

}  // namespace heapledger::cli
