#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/output_file.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/export/format.hpp"
#include "tool/export/gzip.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

// What to do next, with the tool that reads it.
std::string next_command(const exports::format& format, const std::string& file) {
  if (format.name == "pprof") return fmt::format("type: pprof -http=: {}", file);
  if (format.name == "heaptrack") return fmt::format("type: heaptrack_gui {}", file);
  if (format.name == "speedscope") return fmt::format("type: speedscope {}", file);
  if (format.name == "folded")
    return fmt::format("type: flamegraph.pl --color=mem --countname=bytes {} >flame.svg", file);
  if (format.name == "hlp") return fmt::format("type: heapledger report {}", file);
  if (format.name == "massif") return fmt::format("type: ms_print {}", file);
  if (format.name == "dhat") return fmt::format("open valgrind's dh_view.html in a browser, and load {} there", file);
  return {};
}

}  // namespace

int export_profile(const export_options& options) {
  const exports::format& format = *exports::find_format(options.format);
  output_file file(options.output, options.force, {options.file});
  if (format.binary && file.is_terminal()) {
    throw input_error("export", fmt::format("{} is not for a terminal", format.name),
                      fmt::format("add -o FILE{}", format.file_ending));
  }
  const profile loaded = load_profile(options.file, options.debug_paths);
  const exports::sink to_file = [&](std::string_view bytes) { file.write(bytes); };
  const auto by = analyse::parse_measure(options.by);
  exports::notes notes;
  if (options.output.ends_with(".gz") && !format.binary) {
    exports::gzip_out compressed(to_file);
    notes = format.write(loaded, by, [&](std::string_view bytes) { compressed.write(bytes); });
    compressed.finish();
  } else {
    notes = format.write(loaded, by, to_file);
  }
  file.finish();
  for (const auto& note : notes) fmt::print(stderr, "heapledger: {}\n", note);
  const bool named = !options.output.empty() && options.output != "-";
  if (named && !options.quiet) {
    const std::string next = next_command(format, printable(shell_file(options.output)));
    fmt::print(stderr, "heapledger: wrote {}{}{}\n", printable(options.output), next.empty() ? "" : "; ", next);
  }
  return 0;
}

}  // namespace heapledger::cli
