// The syntax of html.
#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {

html_options parse_html(std::span<const std::string> given_words) {
  html_options options;
  command_line line("html", "[options] PROFILE | PID");
  line.add_argument("PROFILE", options.file, "a .hlp file, or the pid of a running program");
  line.add_option("-o,--output", "FILE", options.output,
                  "the page (PROFILE with .html for .hlp, with --diff .diff.html); - is standard output");
  line.add_option("--diff", "OLD", options.before, "an older profile: the page shows what changed since");
  line.add_flag("-f,--force", options.force, "overwrite an existing file");
  line.add_flag("-q,--quiet", options.quiet, "say nothing");
  line.add_debug_options(options.debug);
  std::vector<std::string> further;
  line.take_further(further);
  line.parse({given_words.begin(), given_words.end()});
  if (!further.empty())
    throw usage_error(
        "a page is of one profile; of what changed: heapledger html --diff OLD NEW; a table of several: heapledger "
        "report FILE...");
  if (options.file.empty())
    throw usage_error(options.before.empty() ? "which profile? Type: heapledger html PROFILE"
                                             : "which two? Type: heapledger html --diff OLD NEW");
  return options;
}

}  // namespace heapledger::cli
