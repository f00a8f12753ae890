// heapledger start, heapledger stop: begin and end the leak watch of a program that runs under heapledger, so that what
// its start-up allocates is not counted. The one who watches is its `heapledger run`, or a `heapledger leaks PID`.
#include <fmt/format.h>

#include <ctime>

#include "tool/cli/commands.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/values.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/watch_wish.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

enum class answer { heeded, overtaken, none, late };

// `run` looks every interval, 100 ms where nothing else is said. Who watches already may be searching the memory of a
// large program meanwhile. Counted, not timed: a machine may stop us both.
answer await_answer(const collect::segment_file& segment, bool on) {
  constexpr int waits = 500, waits_for_watcher = 12'000;
  for (int wait = 0; wait < waits_for_watcher; ++wait) {
    const auto now = collect::read_wish(segment);
    if (!now.is_new()) return now.wants_watch() == on ? answer::heeded : answer::overtaken;
    if (wait >= waits && !collect::is_watched(segment))
      return now.wants_watch() == on ? answer::none : answer::overtaken;
    const timespec moment{0, 10'000'000};
    ::nanosleep(&moment, nullptr);
  }
  return answer::late;
}

}  // namespace

int switch_watch(const watch_switch_options& options) {
  const auto program = which_program(options.pid);
  const collect::segment_file segment(program.segment, collect::links::refused);
  collect::add_wish(segment, options.on);
  const auto got = await_answer(segment, options.on);
  if (got == answer::overtaken)
    throw input_error(
        fmt::format("process {}", program.pid),
        fmt::format("somebody typed heapledger {} meanwhile, and the last one holds", options.on ? "stop" : "start"));
  if (got == answer::late)
    throw usage_error(fmt::format("who watches process {} has not answered yet; the wish is noted", program.pid));
  if (got == answer::none) {
    if (!options.on)
      throw usage_error(
          fmt::format("nobody watches process {0}; to have it watched from now on: heapledger start {0}", program.pid));
    throw usage_error(fmt::format(
        "nobody can watch process {0}: its heapledger run has ended, or was never; type: heapledger leaks {0}",
        program.pid));
  }
  if (options.quiet) return 0;
  say(options.on ? fmt::format("watching process {0} for leaks from now on; what lives already is not counted. To end "
                               "it: heapledger stop {0}",
                               program.pid)
                 : fmt::format("process {} is not watched any more; what was found is kept", program.pid));
  return 0;
}

}  // namespace heapledger::cli
