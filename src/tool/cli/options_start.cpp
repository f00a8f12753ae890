// The syntax of `start` and `stop`.
#include <fmt/format.h>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

watch_switch_options parse_switch(const char* name, bool on, std::span<const std::string> given_words) {
  watch_switch_options options;
  options.on = on;
  command_line line(name, "PID");
  line.add_argument("PID", options.pid, "the process; heapledger ps lists those there are");
  line.add_flag("-q,--quiet", options.quiet, "say nothing");
  line.parse({given_words.begin(), given_words.end()});
  if (options.pid.empty())
    throw usage_error(fmt::format("of which program? Type: heapledger {} PID; heapledger ps lists them", name));
  return options;
}

}  // namespace

watch_switch_options parse_start(std::span<const std::string> given_words) {
  return parse_switch("start", true, given_words);
}

watch_switch_options parse_stop(std::span<const std::string> given_words) {
  return parse_switch("stop", false, given_words);
}

}  // namespace heapledger::cli
