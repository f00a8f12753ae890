#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/output_file.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/export/format.hpp"
#include "tool/export/gzip.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint64_t progress_step = 1 << 20;  // bytes: deep stacks make gigabytes of some formats

// What to do next, with the tool that reads it. Some of them read no compressed file.
std::string next_step(std::string_view format, std::optional<analyse::measure> by, std::string path) {
  std::string unpack;
  if ((format == "folded" || format == "massif" || format == "dhat") && path.ends_with(".gz")) {
    unpack = fmt::format("type: gunzip {}; ", shell_file(path));
    path.resize(path.size() - 3);
  }
  const std::string file = shell_file(path);
  const std::string type = unpack.empty() ? "type: " : unpack;
  if (format == "pprof") return fmt::format("{}pprof -http=: {}", type, file);
  if (format == "heaptrack") return fmt::format("{}heaptrack_gui {}", type, file);
  if (format == "speedscope") return fmt::format("{}speedscope {}", type, file);
  if (format == "folded") {
    const bool counts = by == analyse::measure::count || by == analyse::measure::temporary;
    return fmt::format("{}flamegraph.pl --color=mem --countname={} {} >flame.svg", type,
                       counts ? "allocations" : "bytes", file);
  }
  if (format == "hlp") return fmt::format("{}heapledger report {}", type, file);
  if (format == "massif") return fmt::format("{}ms_print {}", type, file);
  if (format == "dhat")
    return fmt::format("{}open valgrind's dh_view.html in a browser, and load {} there", unpack, file);
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
  const profile loaded = load_profile(options.file, options.debug);
  const bool named = !options.output.empty() && options.output != "-";
  progress_line progress(named && !options.quiet);
  std::uint64_t written = 0;
  const exports::sink to_file = [&](std::string_view bytes) {
    file.write(bytes);
    const std::uint64_t before = std::exchange(written, written + bytes.size());
    if (before / progress_step != written / progress_step)
      progress.show(fmt::format("writing {}, {}", options.output, report::bytes_text(written)));
  };
  const auto by = analyse::parse_measure(options.by);
  exports::notes notes;
  if (options.output.ends_with(".gz") && !format.binary) {
    exports::gzip_out compressed(to_file);
    notes = format.write(loaded, by, [&](std::string_view bytes) { compressed.write(bytes); });
    compressed.finish();
  } else {
    notes = format.write(loaded, by, to_file);
  }
  progress.clear();
  file.finish();
  for (const auto& note : notes) fmt::print(stderr, "heapledger: {}\n", note);
  if (named && !options.quiet) {
    const std::string next = next_step(format.name, by, options.output);
    fmt::print(stderr, "heapledger: wrote {}{}{}\n", printable(options.output), next.empty() ? "" : "; ",
               printable(next));
  }
  return 0;
}

}  // namespace heapledger::cli
