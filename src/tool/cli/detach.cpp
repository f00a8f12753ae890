// heapledger detach: end what `attach` began. Who watches is asked to; where nobody does any more, we do it.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <map>
#include <optional>

#include "tool/cli/attach_calls.hpp"
#include "tool/cli/attach_mark.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/run_parts.hpp"
#include "tool/collect/left_sessions.hpp"
#include "tool/collect/output.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/programs.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/collect/session.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

// Nothing: it ended without a word.
std::optional<int> detach_through_watcher(const detach_options& options, const std::string& directory,
                                          const found_watcher& watcher) {
  const auto words = ask_to_end(directory, watcher);
  if (words.empty()) return {};
  if (!options.output.empty() && !options.quiet)
    say(fmt::format("-o {} is not used: heapledger attach is there, and writes to the name that it was given",
                    options.output));
  bool wrote = false;
  for (std::size_t at = 0; at < words.size();) {
    const auto end = std::min(words.find('\n', at), words.size());
    const auto line = words.substr(at, end - at);
    wrote = wrote || line.starts_with("wrote ");
    if (!options.quiet || !line.starts_with("wrote ")) say(line);
    at = end + 1;
  }
  return wrote ? 0 : exit_failure;
}

int detach_alone(const detach_options& options, const collect::running_program& program, const std::string& directory) {
  const auto pid = program.pid;
  collect::output_names names(options.output, options.force);
  names.check({.pid = static_cast<std::uint32_t>(pid),
               .program = program.exe,
               .host = collect::host_name(),
               .start_s = std::time(nullptr),
               .is_root = true,
               .image = 0},
              program.exe);
  collect::session_options without_timeline;
  without_timeline.interval_ms = 0;
  collect::session session(directory, std::move(without_timeline));
  session.take_in();
  std::map<pid_t, std::string> ended;
  end_in_all(session, ended);
  if (const auto& why = ended[pid]; !why.empty()) throw input_error(why);
  profile_writer writer(names, pid);
  writer.keep_segments_of(still_counting(ended));
  const interruptible while_writing(directory);
  progress_line progress(!options.quiet);
  writer.write_all(session.images(), &progress);
  progress.clear();
  while_writing.end();
  if (!options.quiet) say_written(writer.written());
  if (!writer.failed().empty() || writer.written().empty()) {
    say_failed(writer.failed(), directory);
    return exit_failure;
  }
  end_in_all(session, ended);
  if (still_counting(ended).empty()) remove_session(directory);
  return 0;
}

std::optional<int> try_to_detach(const detach_options& options, pid_t pid) {
  const auto program = collect::find_program(pid);
  if (!program) collect::refuse_process(pid);
  const auto directory = program->segment.substr(0, program->segment.rfind('/'));
  const auto watcher = find_watcher(directory);
  const collect::segment_file segment(program->segment, collect::links::refused);
  if (watcher.state == attach_watcher::never && segment.header().state == wire::lifecycle::detached)
    throw input_error(fmt::format("process {}", pid), "it was detached already, and its profile is written");
  if (watcher.state == attach_watcher::never && collect::is_left(directory))
    throw input_error(
        fmt::format("process {}", pid), "nobody writes its profile: the heapledger run that started it is gone",
        fmt::format("heapledger export --format hlp -o FILE {} does, of now; of its end, then, the same with {}", pid,
                    program->segment));
  if (watcher.state == attach_watcher::never)
    throw input_error(fmt::format("process {}", pid), "it was started under heapledger, and is profiled up to its end",
                      fmt::format("heapledger snapshot {} keeps what it holds now", pid));
  if (watcher.state == attach_watcher::there) return detach_through_watcher(options, directory, watcher);
  return detach_alone(options, *program, directory);
}

}  // namespace

int detach(const detach_options& options) {
  fill_standard_streams();
  try {
    const auto pid = static_cast<pid_t>(std::stoi(options.pid));
    constexpr int most_tries = 5;
    for (int tries = 0; tries < most_tries; ++tries)  // where who watched was killed meanwhile, nobody does any more
      if (const auto status = try_to_detach(options, pid)) return *status;
    throw input_error(fmt::format("process {}", pid), "who watched it ended without a word", "type it again");
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failure;
  }
}

}  // namespace heapledger::cli
