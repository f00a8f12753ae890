// heapledger run: start, watch, write. See docs/run.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>

#include "tool/cli/commands.hpp"
#include "tool/cli/growth_snapshots.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/cli/run_leaks.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/run_parts.hpp"
#include "tool/collect/environment.hpp"
#include "tool/collect/launch.hpp"
#include "tool/collect/output.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/program_check.hpp"
#include "tool/collect/session.hpp"
#include "tool/collect/session_directory.hpp"
#include "tool/collect/silent_processes.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

struct refusal {
  int exit_status;
  std::string words;
};

// The kernel ends who makes a file larger than it may be.
std::optional<refusal> check_file_sizes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= least_file_for_books) return {};
  return refusal{exit_failure,
                 fmt::format("files are limited to {} KiB (ulimit -f), and the books of a program need {} KiB: "
                             "raise the limit",
                             limit.rlim_cur >> 10, least_file_for_books >> 10)};
}

std::optional<refusal> check(const run_options& options) {
  const auto& program = options.command[0];
  const auto found = check_program(program);
  for (const auto& finding : found.findings) {
    const bool matters = finding.weight == severity::warning ||
                         (finding.what == obstacle::no_unwind_tables && options.stacks == "dwarf");
    const bool is_said = matters ? !options.quiet : options.verbose > 0;
    if (finding.weight != severity::fatal && is_said) say(fmt::format("{}: {}", program, finding.words));
  }
  const auto* fatal = found.fatal();
  if (fatal == nullptr) return check_file_sizes();
  auto words = fmt::format("{}: {}", program, fatal->words);
  switch (fatal->what) {
    case obstacle::not_found:
      return refusal{exit_not_found, std::move(words)};
    case obstacle::not_executable:
      return refusal{exit_not_executable, std::move(words)};
    case obstacle::static_program:
    case obstacle::privileged:
      words += fmt::format("; to profile the programs that it starts: heapledger run -- env {} ...", program);
      break;
    default:
      break;
  }
  return refusal{exit_failure, std::move(words)};
}

std::string real_path(const std::string& path) {
  std::error_code unreadable;
  return std::filesystem::canonical(path, unreadable).string();
}

// Its name is that of the file behind links, as it will be when it runs.
collect::output_subject expected_root(const run_options& options, const program_check& found) {
  const auto image = real_path(found.image);
  return {.pid = 0,
          .program = image.empty() ? options.command[0] : image,
          .host = collect::host_name(),
          .start_s = std::time(nullptr),
          .is_root = true,
          .image = 0};
}

void say_no_profile(const run_options& options, const profile_writer& writer, int wait_status) {
  if (!writer.written().empty() || !writer.failed().empty() || writer.without_books() != 0 ||
      !writer.limited().programs.empty())
    return;
  if (!options.only.empty()) {
    const auto typed = options.command[0].substr(options.command[0].rfind('/') + 1);
    const auto found = real_path(check_program(options.command[0]).path);
    const auto name = found.substr(found.rfind('/') + 1);
    say(fmt::format("no profile: no program matched --only {}{}", fmt::join(options.only, " or "),
                    name.empty() || name == typed ? "" : fmt::format("; {} is the program {}", typed, name)));
  } else {
    say(no_probe_text(options.command[0], wait_status));
  }
}

int finish(const run_options& options, collect::session_directory& directory, const profile_writer& writer,
           const std::vector<collect::silent_process>& silent, int wait_status) {
  const int program_status = collect::exit_status_of(wait_status);
  if (!options.quiet) {
    if (options.verbose > 0 && writer.left_out() != 0)
      say(fmt::format("left out {} short lives of children between fork and exec", writer.left_out()));
    if (!writer.written().empty()) say_ending(options.command[0], wait_status);
    say_errors(writer.written());
    say_own_allocators(writer.written(), real_path(check_program(options.command[0]).path));
    say_uncounted(writer.uncounted(), options.only);
    say_uncounted(writer.limited().programs);
    say_silent(silent);
    say_lost_stacks(writer.written(), directory.path());
    say_written(writer.written());
    say_no_profile(options, writer, wait_status);
  }
  say_without_books(writer.without_books(), directory.path());
  if (writer.failed().empty()) {
    directory.keep(false);
    return program_status;
  }
  say_failed(writer.failed(), directory.path());
  return program_status;  // what was counted is kept; the program did nothing wrong
}

// The program has run: whatever goes wrong now must not take what was counted with it.
int watch_and_write(const run_options& options, pid_t root, collect::session& session, collect::held_signals& signals,
                    collect::session_directory& directory, profile_writer& writer) {
  directory.keep(true);
  try {
    const int status = session.watch(root, signals);
    writer.know_limited(session.limited());
    const interruptible while_writing(directory.path());
    signals.release();
    std::vector<collect::silent_process> silent;
    if (!options.quiet && options.follow) silent = collect::silent_processes(directory.path(), session.running());
    progress_line progress(!options.quiet);
    writer.write_all(session.images(), &progress);
    progress.clear();
    while_writing.end();
    return finish(options, directory, writer, silent, status);
  } catch (const std::exception& error) {
    throw input_error(directory.path(), error.what(),
                      "what was counted is kept there: `heapledger report` reads each file");
  }
}

int run_checked(const run_options& options) {
  collect::output_names names(options.output, options.force);
  const auto found = check_program(options.command[0]);
  names.check(expected_root(options, found), found.path);
  collect::held_signals signals;  // before the directory, which is removed again whatever comes
  collect::session_directory directory(folder_of_output(options.output));
  auto settings = settings_for(options, directory);
  if (!collect::can_preload(settings.library)) settings.library = directory.link_to(settings.library);
  const auto environment = collect::environment_for(settings, environ);
  if (options.verbose > 0) say(fmt::format("session in {}", directory.path()));

  profile_writer* retiring = nullptr;
  run_leak_watch leak_watch(options.leak_watch, options.leaks);
  growth_snapshots snapshots(options.snapshot_growth_percent);
  collect::session_options watching{.interval_ms = options.interval_ms,
                                    .held_bytes_limit = directory.share_for_ended(),
                                    .retire = [&](auto images) { retiring->write_early(std::move(images)); },
                                    .is_retiring = [&] { return retiring->is_busy(); },
                                    .look =
                                        [&](const auto& image, auto now_ns) {
                                          snapshots.look(image);
                                          leak_watch.look(image, now_ns);
                                        }};
  collect::session session(directory.path(), std::move(watching));
  if (const int signal = signals.wish_to_end(); signal != 0) return 128 + signal;  // before anything was begun
  const pid_t root = collect::launch(options.command, environment, signals);
  if (!options.quiet) {
    say(options.only.empty() ? fmt::format("counting every allocation of {} (pid {})", options.command[0], root)
                             : fmt::format("started {} (pid {}); counting every allocation of programs named {}",
                                           options.command[0], root, fmt::join(options.only, " or ")));
    if (options.leak_options_given && !options.leaks)
      say(fmt::format("watching for leaks from when you type: heapledger start {}; --leaks watches from the beginning",
                      root));
  }
  profile_writer writer(names, root);
  writer.count_only(options.only);
  retiring = &writer;
  writer.complete_by([&](const auto& image, profile& of) { leak_watch.complete(image, of); });
  writer.read_by([&](const auto& written, const profile& of) { leak_watch.read(written, of); });
  const int status = watch_and_write(options, root, session, signals, directory, writer);
  return leak_watch.finish(options.quiet, status);
}

}  // namespace

int run(const run_options& options) {
  fill_standard_streams();
  try {
    if (const auto refused = check(options)) {
      say(refused->words);
      return refused->exit_status;
    }
    return run_checked(options);
  } catch (const collect::launch_error& error) {
    say(error.what());
    return error.exit_status();
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failure;
  }
}

}  // namespace heapledger::cli
