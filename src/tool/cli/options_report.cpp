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
  command_line line("report");
  auto& app = line.app();
  app.footer("report [options] PROFILE | PID");
  app.add_option("PROFILE", options.file,
                 "a .hlp file, or the pid of a running program; several make a table of processes")
      ->type_name("");
  line.take_further(options.others);
  app.add_flag("--json", options.json, "one JSON object: every stack with every frame");
  app.add_option("--by", options.by, "order by live, peak, allocated, count or temporary")->type_name("MEASURE");
  app.add_option("--top", top, "so many places, or stacks in JSON (10; all in JSON)")->type_name("N");
  app.add_option("--depth", depth,
                 "so many frames of each stack; in JSON, from the allocation on (what matters; all in JSON)")
      ->type_name("N");
  app.add_flag("--full-recursion", options.full_recursion, "show repeated frames one by one, as JSON always does");
  const auto add_patterns = [&](const char* name, std::vector<std::string>& texts, const char* value,
                                const char* words) {
    app.add_option(name, texts, words)
        ->type_name(value)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_patterns("--focus", options.focus, "TEXT",
               "only stacks that have this in a function, file or module; may be repeated");
  add_patterns("--ignore", options.ignore, "TEXT", "only stacks that do not; may be repeated");
  add_patterns("--suppressions", options.suppressions, "FILE",
               "never freed: leave out what matches its lines, as LeakSanitizer has them; may be repeated");
  app.add_option("--since", options.since, "what happened after this snapshot (FILE@NAME shows one itself)")
      ->type_name("NAME");
  app.add_option("--until", options.until, "and up to this one (the end)")->type_name("NAME");
  line.add_debug_options(options.debug);
  line.parse({given_words.begin(), given_words.end()});

  if (app.count("--by") != 0) {
    choice_value("--by", options.by, {"live", "peak", "allocated", "count", "temporary"});
  }
  if (app.count("--top") != 0) options.top = number_value("--top", top, 1, UINT32_MAX);
  if (app.count("--depth") != 0) options.depth = number_value("--depth", depth, 1, 100'000);
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
    if (app.count(option) != 0 && name->empty())
      throw usage_error(fmt::format("{} needs the name of a snapshot", option));
  if (app.count("--until") != 0 && options.since.empty()) throw usage_error("--until needs --since NAME");
  for (const auto* option :
       {"--json", "--depth", "--full-recursion", "--focus", "--ignore", "--suppressions", "--since"})
    if (!options.others.empty() && app.count(option) != 0)
      throw usage_error(
          fmt::format("{} is for one profile; of {} there is a table of processes", option, 1 + options.others.size()));
  return options;
}

doctor_options parse_doctor(std::span<const std::string> given_words) {
  doctor_options options;
  command_line line("doctor");
  line.app().footer("doctor [PROGRAM]");
  line.app().add_option("PROGRAM", options.program, "also say whether this program can be profiled")->type_name("");
  line.parse({given_words.begin(), given_words.end()});
  return options;
}

}  // namespace heapledger::cli
