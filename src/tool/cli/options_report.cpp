// The syntax of the commands that read: report and doctor.
#include <fmt/format.h>

#include <utility>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {

report_options parse_report(std::span<const std::string> given_words) {
  report_options options;
  std::string top;
  std::string depth;
  command_line line("report", "[options] PROFILE | PID");
  line.add_argument("PROFILE", options.file,
                    "a .hlp file, or the pid of a running program; several make a table of processes");
  line.take_further(options.others);
  line.add_flag("--json", options.json, "one JSON object: every stack with every frame");
  line.add_option("--by", "MEASURE", options.by, "order by live, peak, allocated, count or temporary");
  line.add_option("--top", "N", top, "so many places, or stacks in JSON (10; all in JSON)");
  line.add_option("--depth", "N", depth,
                  "so many frames of each stack; in JSON, from the allocation on (what matters; all in JSON)");
  line.add_flag("--full-recursion", options.full_recursion, "show repeated frames one by one, as JSON always does");
  line.add_list("--focus", "TEXT", options.focus,
                "only stacks that have this in a function, file or module; may be repeated");
  line.add_list("--ignore", "TEXT", options.ignore, "only stacks that do not; may be repeated");
  line.add_list("--suppressions", "FILE", options.suppressions,
                "never freed: leave out what matches its lines, as LeakSanitizer has them; may be repeated");
  line.add_option("--since", "NAME", options.since, "what happened after this snapshot (FILE@NAME shows one itself)");
  line.add_option("--until", "NAME", options.until, "and up to this one (the end)");
  line.add_debug_options(options.debug);
  line.parse({given_words.begin(), given_words.end()});

  if (line.count("--by") != 0) {
    choice_value("--by", options.by, {"live", "peak", "allocated", "count", "temporary"});
  }
  if (line.count("--top") != 0) options.top = number_value("--top", top, 1, UINT32_MAX);
  if (line.count("--depth") != 0) options.depth = number_value("--depth", depth, 1, 100'000);
  if (options.by == "peak" && !options.since.empty())
    throw usage_error(
        "--by peak says nothing with --since: between two snapshots only live, allocated, count and temporary are "
        "known");
  for (const auto* texts : {&options.focus, &options.ignore})
    for (const auto& text : *texts)
      if (text.find_first_not_of("*^$") == std::string::npos)
        throw usage_error(fmt::format("{} needs the name, or a part of it, that stacks are to have",
                                      texts == &options.focus ? "--focus" : "--ignore"));
  for (const auto& [option, name] : {std::pair("--since", &options.since), std::pair("--until", &options.until)})
    if (line.count(option) != 0 && name->empty())
      throw usage_error(fmt::format("{} needs the name of a snapshot", option));
  if (line.count("--until") != 0 && options.since.empty()) throw usage_error("--until needs --since NAME");
  for (const auto* option :
       {"--json", "--depth", "--full-recursion", "--focus", "--ignore", "--suppressions", "--since"})
    if (!options.others.empty() && line.count(option) != 0)
      throw usage_error(
          fmt::format("{} is for one profile; of {} there is a table of processes", option, 1 + options.others.size()));
  return options;
}

doctor_options parse_doctor(std::span<const std::string> given_words) {
  doctor_options options;
  command_line line("doctor", "[PROGRAM]");
  line.add_argument("PROGRAM", options.program, "also say whether this program can be profiled");
  line.parse({given_words.begin(), given_words.end()});
  return options;
}

}  // namespace heapledger::cli
