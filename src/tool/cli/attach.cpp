// heapledger attach: begin in a program that runs, watch it, leave it again, write. See docs/attach.md.
#include <fmt/format.h>

#include <ctime>
#include <exception>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "tool/cli/attach_calls.hpp"
#include "tool/cli/attach_mark.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/growth_snapshots.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/cli/run_leaks.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/run_parts.hpp"
#include "tool/collect/output.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/programs.hpp"
#include "tool/collect/session.hpp"
#include "tool/inject/candidates.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

std::string name_of(const inject::target& process) {
  const auto name = process.program.substr(process.program.rfind('/') + 1);
  return name.empty() ? "the program" : name;
}

// Who detaches may be in another folder.
std::vector<written_profile> seen_from_anywhere(std::vector<written_profile> written) {
  for (auto& profile : written) {
    std::error_code unknown;
    const auto path = std::filesystem::absolute(profile.file, unknown);
    if (!unknown) profile.file = path.string();
  }
  return written;
}

void check_output(const collect::output_names& names, const inject::target& process) {
  names.check({.pid = static_cast<std::uint32_t>(process.pid),
               .program = process.program,
               .host = collect::host_name(),
               .start_s = std::time(nullptr),
               .is_root = true,
               .image = 0},
              process.program);
}

// What must end with everything that was begun, also where something goes wrong in between.
class attached {
 public:
  attached(const attach_options& options, pid_t pid)
      : options_(options.how),
        process_(inject::examine_target(pid, collect::find_probe())),
        names_(options_.output, options_.force),
        leak_watch_(options_.leak_watch, options_.leaks) {
    check_output(names_, process_);
  }

  int carry_out() {
    collect::held_signals signals;  // before the directory, which is removed again whatever comes
    collect::session_directory directory(folder_of_output(options_.output));
    if (!inject::sees_the_same(process_.pid, directory.path())) {
      if (inject::is_over(process_.pid))
        throw input_error(fmt::format("process {}", process_.pid), "has ended already");
      throw input_error(fmt::format("process {}", process_.pid),
                        fmt::format("sees other files than we do (a container): {} is not there", directory.path()),
                        "run heapledger inside that container");
    }
    const attach_mark mark(directory.path());
    remove_abandoned_sessions(directory.path());
    profile_writer writer(names_, process_.pid);
    writer.complete_by([&](const auto& image, profile& of) { leak_watch_.complete(image, of); });
    writer.read_by([&](const auto& written, const profile& of) { leak_watch_.read(written, of); });
    growth_snapshots snapshots(options_.snapshot_growth_percent);
    collect::session session(directory.path(), {.interval_ms = options_.interval_ms,
                                                .held_bytes_limit = directory.share_for_ended(),
                                                .retire = [&](auto images) { writer.write_early(std::move(images)); },
                                                .is_retiring = [&] { return writer.is_busy(); },
                                                .look =
                                                    [&](const auto& image, auto now_ns) {
                                                      snapshots.look(image);
                                                      leak_watch_.look(image, now_ns);
                                                    }});
    const auto outcome = begin_in(process_, settings_for(options_, directory));
    directory.keep(true);
    say_begun(outcome, directory);
    try {
      const bool has_ended = session.watch_other(process_.pid, signals, [&] { return mark.is_asked_to_end(); });
      std::map<pid_t, std::string> ended;
      const auto not_left = has_ended ? std::vector<std::string>() : leave(session, writer, ended);
      const interruptible while_writing(directory.path());
      signals.were_to_end_us();  // who says it twice, as timeout does, means the same by it
      signals.release();
      const int status = write(session, writer, directory, mark, not_left, while_writing);
      if (!has_ended) end_in_all(session, ended);
      return status;
    } catch (const std::exception& error) {
      throw input_error(directory.path(), error.what(),
                        "what was counted is kept there: `heapledger report` reads each file");
    }
  }

 private:
  void say_begun(const inject::outcome& outcome, const collect::session_directory& directory) const {
    if (options_.verbose > 0)
      say(fmt::format("session in {}; one thread stood still for {:.1f} ms; {} looked at", directory.path(),
                      static_cast<double>(outcome.stopped_ns) / 1e6, outcome.tries));
    if (options_.quiet) return;
    if (process_.program_has_malloc)
      say(fmt::format("{} brings an allocator of its own: what goes there directly is not counted", name_of(process_)));
    say(
        fmt::format("attached to {0} (pid {1}); counting from now on; Ctrl-C or `heapledger detach {1}` ends it and "
                    "writes the profile",
                    name_of(process_), process_.pid));
  }

  // The process, and what it forked meanwhile. Returns what is left to be said.
  static std::vector<std::string> leave(collect::session& session, profile_writer& writer,
                                        std::map<pid_t, std::string>& ended) {
    end_in_all(session, ended);
    const auto counting = still_counting(ended);
    writer.keep_segments_of(counting);
    std::vector<std::string> lines;
    for (const auto pid : counting)
      lines.push_back(fmt::format("{}; it is counted on until you type: heapledger detach {}", ended[pid], pid));
    for (const auto& line : lines) say(line);
    return lines;
  }

  int write(collect::session& session, profile_writer& writer, collect::session_directory& directory,
            const attach_mark& mark, const std::vector<std::string>& not_left, const interruptible& while_writing) {
    progress_line progress(!options_.quiet);
    writer.know_limited(session.limited());
    writer.write_all(session.images(), &progress);
    progress.clear();
    while_writing.end();
    for (const auto& line : not_left) mark.say(line);
    for (const auto& line : written_lines(seen_from_anywhere(writer.written()), process_.pid)) mark.say(line);
    for (const auto& failed : writer.failed()) mark.say(failed.why);
    if (!options_.quiet) {
      say_errors(writer.written());
      say_own_allocators(writer.written(), {});
      say_uncounted(writer.limited().programs);
      say_lost_stacks(writer.written(), directory.path());
      say_written(writer.written());
    }
    say_without_books(writer.without_books(), directory.path());
    if (!writer.failed().empty()) {
      say_failed(writer.failed(), directory.path());
      return exit_failure;
    }
    directory.keep(!not_left.empty());
    if (writer.written().empty()) {
      say(fmt::format("no profile: process {} ended before it counted anything", process_.pid));
      return exit_failure;
    }
    return leak_watch_.finish(options_.quiet, 0);
  }

  run_options options_;
  inject::target process_;
  collect::output_names names_;
  run_leak_watch leak_watch_;
};

}  // namespace

int attach(const attach_options& options) {
  fill_standard_streams();
  try {
    const auto pid = static_cast<pid_t>(std::stoi(options.pid));
    refuse_program_of_ours(pid);
    return attached(options, pid).carry_out();
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failure;
  }
}

}  // namespace heapledger::cli
