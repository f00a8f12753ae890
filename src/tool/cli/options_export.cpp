// The syntax of export.
#include <fmt/format.h>

#include <algorithm>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/peers_words.hpp"
#include "tool/cli/values.hpp"
#include "tool/export/format.hpp"

namespace heapledger::cli {
namespace {

// `export pprof FILE`, `export -f pprof FILE`, `export --pprof FILE`: the format would be taken for the profile's name,
// or an option.
void refuse_bare_format(std::span<const std::string> given_words) {
  const auto names_option = [](const std::string& word) { return word.starts_with("--format"); };
  if (std::any_of(given_words.begin(), given_words.end(), names_option)) return;
  for (const std::string& word : given_words) {
    const auto name = word.starts_with("--") ? word.substr(2) : word;
    if (exports::find_format(name) != nullptr)
      throw usage_error(fmt::format("'{0}' is a format; type: heapledger export --format {0} PROFILE", name));
  }
}

}  // namespace

export_options parse_export(std::span<const std::string> given_words) {
  export_options options;
  command_line line("export", "--format FORMAT [options] PROFILE | PID");
  line.add_argument("PROFILE", options.file, "a .hlp file, or the pid of a running program");
  line.add_option("--format", "FORMAT", options.format,
                  "pprof, heaptrack, speedscope, folded, massif, dhat, csv or hlp");
  line.add_option("-o,--output", "FILE", options.output,
                  "write to this file; ending in .gz: compressed (standard output)");
  line.add_flag("-f,--force", options.force, "overwrite an existing file");
  line.add_option("--by", "MEASURE", options.by,
                  "live, peak, allocated, count or temporary: what is shown first (peak)");
  line.add_flag("-q,--quiet", options.quiet, "do not say what was written");
  line.add_debug_options(options.debug);
  refuse_bare_format(given_words);
  line.parse({given_words.begin(), given_words.end()});

  if (line.count("--format") == 0) {
    throw usage_error("which format? add --format pprof, heaptrack, speedscope, folded, massif, dhat, csv or hlp");
  }
  if (const auto typed = peers_word("export", options.format); !typed.empty())
    throw usage_error(fmt::format("{} is no format; type: {}", options.format, typed));
  choice_value("--format", options.format,
               {"pprof", "heaptrack", "speedscope", "folded", "massif", "dhat", "csv", "hlp"});
  if (line.count("--by") != 0) {
    choice_value("--by", options.by, {"live", "peak", "allocated", "count", "temporary"});
    if (!exports::find_format(options.format)->takes_measure) {
      throw usage_error(fmt::format("--by says nothing for {}, which shows every measure that it has", options.format));
    }
  }
  if (options.file.empty()) throw usage_error("which profile? add the name of a .hlp file");
  return options;
}

}  // namespace heapledger::cli
