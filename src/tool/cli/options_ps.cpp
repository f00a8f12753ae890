// The syntax of `ps`.
#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"

namespace heapledger::cli {

ps_options parse_ps(std::span<const std::string> given_words) {
  ps_options options;
  command_line line("ps", "[--json]");
  line.add_flag("--json", options.json, "one JSON object");
  line.parse({given_words.begin(), given_words.end()});
  return options;
}

}  // namespace heapledger::cli
