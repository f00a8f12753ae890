#include "tool/cli/find_symbols.hpp"

#include <fmt/format.h>

#include "tool/cli/run_messages.hpp"
#include "tool/symbolize/debuginfod.hpp"
#include "tool/symbolize/mapped_files.hpp"
#include "tool/symbolize/symbolize.hpp"

namespace heapledger::cli {

void find_symbols(profile& p, const debug_options& options, pid_t running) {
  progress_line progress(true);
  symbolize_options how{.debug = {.folders = options.folders, .fetch = {}},
                        .progress = [&](std::size_t done, std::size_t total) { progress.show(done, total); }};
  if (running != 0) how.debug.mapped = symbols::mapped_files(running);
  if (!options.debuginfod) {
    symbolize(p, how);
    return;
  }
  symbols::debuginfod servers;
  how.debug.fetch = [&](const std::string& build_id, const std::string& of) {
    progress.show(fmt::format("fetching debug information of {}", of));
    return servers.fetch(build_id);
  };
  symbolize(p, how);
  progress.clear();
  if (!servers.trouble().empty()) say(fmt::format("--debuginfod: the servers cannot be asked: {}", servers.trouble()));
}

}  // namespace heapledger::cli
