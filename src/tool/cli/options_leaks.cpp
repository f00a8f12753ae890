// The syntax of `leaks`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "tool/cli/command_line.hpp"
#include "tool/cli/leak_options.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {

namespace {

constexpr const char* of_a_process = "Of a running program (PID)";

bool says_nothing_of_a_profile(const std::string& name) {
  constexpr std::array of_both = {"--top", "--suppressions", "--error-exitcode"};
  return std::find(of_both.begin(), of_both.end(), name) == of_both.end();
}

}  // namespace

leaks_options parse_leaks(std::span<const std::string> given_words) {
  leaks_options options;
  options.watch.hunt.report_s = 30;
  command_line line("leaks", "[options] PROFILE | PID");
  line.add_argument("TARGET", options.target, "a .hlp file of a watched run, or the pid of a program under heapledger",
                    "PROFILE | PID");
  line.add_flag("--json", options.json, "one JSON object");
  struct value {
    std::string name;
    std::unique_ptr<std::vector<std::string>> texts;
    use_text use;
  };
  std::vector<value> values;
  const add_value add = [&](const std::string& name, const std::string& placeholder, const std::string& help,
                            use_text use) {
    auto texts = std::make_unique<std::vector<std::string>>();
    line.add_list(name, placeholder, *texts, help, says_nothing_of_a_profile(name) ? of_a_process : "");
    values.push_back({name, std::move(texts), std::move(use)});
  };
  add("--top", "N", "so many places of each kind (10; all in JSON)",
      [&](auto source, const std::string& text) { options.top = number_value(source, text, 1, UINT32_MAX); });
  add("--duration", "S", "watch for so long (until it ends, or Ctrl-C)",
      [&](auto source, const std::string& text) { options.duration_s = seconds_value(source, text, 0.01, 1e9); });
  line.add_debug_options(options.debug);
  add_leak_options("", options.watch, add);
  line.parse({given_words.begin(), given_words.end()});
  for (const auto& each : values) {
    for (const auto& text : *each.texts) each.use(each.name, text);
    if (!each.texts->empty() && says_nothing_of_a_profile(each.name)) options.of_a_process = each.name;
  }
  if (options.json && line.count("--report") != 0 && options.watch.hunt.report_s > 0)
    throw usage_error("--report says nothing with --json, which is one object at the end");
  if (options.target.empty())
    throw usage_error("of what? Type: heapledger leaks PROFILE, or heapledger leaks PID while the program runs");
  return options;
}

}  // namespace heapledger::cli
