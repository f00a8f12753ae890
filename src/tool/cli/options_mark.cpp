// The syntax of `mark` and `snapshot`.
#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

constexpr const char* about_pid = "the process; heapledger ps lists those there are";

}  // namespace

mark_options parse_mark(std::span<const std::string> given_words) {
  mark_options options;
  command_line line("mark", "PID NAME");
  line.add_argument("PID", options.pid, about_pid);
  line.add_argument("NAME", options.name, "what the moment is called in the profile");
  line.add_flag("-q,--quiet", options.quiet, "say nothing");
  line.parse({given_words.begin(), given_words.end()});
  if (options.name.empty()) throw usage_error("which moment? Type: heapledger mark PID NAME");
  return options;
}

mark_options parse_snapshot(std::span<const std::string> given_words) {
  mark_options options;
  options.with_books = true;
  command_line line("snapshot", "PID [NAME]");
  line.add_argument("PID", options.pid, about_pid);
  line.add_argument("NAME", options.name, "what it is called in the profile (its time)");
  line.add_flag("-q,--quiet", options.quiet, "say nothing");
  line.parse({given_words.begin(), given_words.end()});
  if (options.pid.empty())
    throw usage_error("of which program? Type: heapledger snapshot PID [NAME]; heapledger ps lists them");
  return options;
}

}  // namespace heapledger::cli
