// The syntax of `attach` and `detach`.
#include <fmt/format.h>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/options_of_run.hpp"
#include "tool/cli/twin_options.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

void check_pid(const std::string& pid, const char* command) {
  if (pid.empty())
    throw usage_error(fmt::format("to which process? Type: heapledger {} PID; pgrep NAME tells it", command));
  if (pid.find_first_not_of("0123456789") != std::string::npos)
    throw usage_error(fmt::format("PID: '{}' is no number; pgrep {} may tell it", pid, pid));
  number_value("PID", pid, 1, INT32_MAX);
}

}  // namespace

attach_options parse_attach(std::span<const std::string> given_words, const environment_lookup& environment) {
  attach_options options;
  command_line line("attach", "[options] PID");
  line.add_remark(
      "An option that is not given is taken from the environment: HEAPLEDGER_<OPTION>, such as "
      "HEAPLEDGER_NO_FOLLOW=1.");
  line.add_argument("PID", options.pid, "the process; what it allocated before is not counted");
  twin_options twins(line, environment);
  add_run_options(twins, options.how, false);
  line.add_hidden_flag("--check", options.how.check);  // for tests: not in the help
  line.parse({given_words.begin(), given_words.end()});
  twins.take();
  refuse_depth_of_nothing(line, options.how);
  if (is_check_asked(environment)) options.how.check = true;
  check_pid(options.pid, "attach");
  return options;
}

detach_options parse_detach(std::span<const std::string> given_words) {
  detach_options options;
  command_line line("detach", "[options] PID");
  line.add_argument("PID", options.pid, "the process");
  line.add_option("-o,--output", "FILE", options.output,
                  "the profile's name, where heapledger attach does not run any more (heapledger.%e.%p.hlp)");
  line.add_flag("-f,--force", options.force, "overwrite an existing file");
  line.add_flag("-q,--quiet", options.quiet, "say nothing");
  line.parse({given_words.begin(), given_words.end()});
  check_pid(options.pid, "detach");
  return options;
}

}  // namespace heapledger::cli
