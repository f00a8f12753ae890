// heapledger leaks: of a profile, what its watch found; of a running program, the watch itself.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>

#include "tool/cli/answer.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/leak_findings.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/values.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/programs.hpp"
#include "tool/collect/watch_wish.hpp"
#include "tool/leaks/watcher.hpp"
#include "tool/leaks/witness.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/leaks_json.hpp"
#include "tool/report/leaks_text.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint64_t ns_per_s = 1'000'000'000;

volatile std::sig_atomic_t is_interrupted = 0;
volatile std::sig_atomic_t is_asked = 0;

int exit_status(const leaks_options& options, const shown_leaks& shown) {
  return shown.leaks != 0 ? options.watch.error_exitcode : 0;
}

// The first of each kind.
std::vector<leak_entry> cut(const std::vector<leak_entry>& entries, std::size_t top) {
  if (top == 0) return entries;
  std::vector<leak_entry> kept;
  std::map<std::string, std::size_t> seen;
  for (const auto& entry : entries)
    if (++seen[entry.verdict] <= top) kept.push_back(entry);
  return kept;
}

shown_leaks show(const profile& p, const leaks_options& options, const std::vector<leaks::suppressions>& known,
                 const std::string& file) {
  auto shown = without_suppressed(p, known);
  print_answer(options.json
                   ? report::leaks_json(p, cut(shown.entries, options.top), shown.suppressed)
                   : report::leaks_text(p, shown.entries,
                                        {options.top, shown.suppressed, report::style_for(STDOUT_FILENO), file}));
  finish_answer();
  return shown;
}

int leaks_of_profile(const leaks_options& options) {
  refuse_name_of_program(options.target);
  if (!options.of_a_process.empty())
    throw usage_error(fmt::format("leaks: {} is for the watch of a running program; {} is a profile, of what was found",
                                  options.of_a_process, options.target));
  const auto known = read_suppressions(options.watch.suppressions);
  const profile loaded = load_profile(options.target, options.debug);
  if (!loaded.leaks && options.watch.error_exitcode != 0)  // nothing can be said, which must not look like no leak
    throw input_error(options.target, "the profile has no leak watch",
                      "heapledger run --leaks -- PROGRAM, or, while it is there, heapledger start PID");
  if (loaded.leaks && options.watch.error_exitcode != 0)
    if (const auto why = untold_because(*loaded.leaks); !why.empty())
      throw input_error(fmt::format("{}: {}", options.target, why));
  return exit_status(options, show(loaded, options, known, options.target));
}

void listen_to_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_interrupted = 1; };
  // Shells ignore SIGINT for what runs behind; who sends it there means it. The others were ignored on purpose, by
  // nohup.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction was {};
    if (signal == SIGINT || ::sigaction(signal, nullptr, &was) != 0 || was.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
  action.sa_handler = [](int) { is_asked = 1; };
  ::sigaction(SIGUSR1, &action, nullptr);
}

// True: the process has ended. A signal ends the waiting, too.
bool ends_until(std::uint64_t time_ns, const collect::unique_fd& process) {
  const auto now_ns = collect::monotonic_ns();
  const auto rest_ns = time_ns > now_ns ? time_ns - now_ns : 0;
  const timespec rest{static_cast<std::time_t>(rest_ns / ns_per_s), static_cast<long>(rest_ns % ns_per_s)};
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};  // without a pidfd nothing is waited for but time
  return ::ppoll(&end, 1, &rest, nullptr) == 1;
}

std::uint64_t after(double seconds) {
  return collect::monotonic_ns() + static_cast<std::uint64_t>(seconds * 1e9);
}

// The watch of one process, begun anew whenever the user says start.
class live_watch {
 public:
  explicit live_watch(const leaks_options& options)
      : options_(options),
        program_(collect::await_program(static_cast<pid_t>(std::stoi(options.target)))),
        end_(collect::open_pidfd(program_.pid)),
        segment_(program_.segment, collect::links::refused) {
    begin(after(options.watch.after_s), leaks::earlier_blocks::taken_up);
    collect::heed_wish(segment_, wish_ = collect::read_wish(segment_).wish);
  }

  leaks::watcher& watch() { return *watch_; }
  pid_t pid() const { return program_.pid; }
  bool ends_until(std::uint64_t time_ns) const { return cli::ends_until(time_ns, end_); }

  // False: the user wants it to stop.
  bool heed_user() {
    const auto now = collect::read_wish(segment_);
    if (now.wish == wish_) return true;
    wish_ = now.wish;
    if (now.wants_watch()) begin(collect::monotonic_ns(), leaks::earlier_blocks::left_alone);
    collect::heed_wish(segment_, wish_);
    return now.wants_watch();
  }

 private:
  void begin(std::uint64_t begin_ns, leaks::earlier_blocks earlier) {
    watch_.reset();  // it holds the lock
    watch_.emplace(program_.segment, collect::links::refused, program_.pid, options_.watch.hunt, begin_ns, earlier);
  }

  const leaks_options& options_;
  collect::running_program program_;
  collect::unique_fd end_;
  collect::segment_file segment_;
  std::optional<leaks::watcher> watch_;
  std::uint32_t wish_ = 0;
};

int watch_process(const leaks_options& options) {
  const auto known = read_suppressions(options.watch.suppressions);
  live_watch process(options);
  listen_to_signals();
  const bool ends_alone = options.duration_s > 0;
  const std::uint64_t end_ns = ends_alone ? after(options.watch.after_s + options.duration_s) : UINT64_MAX;
  if (!options.json)
    say(fmt::format("watching process {}{}; SIGUSR1 reports, Ctrl-C reports and ends", process.pid(),
                    ends_alone ? fmt::format(" for {} s", options.duration_s) : ""));
  const double report_s = options.json ? 0 : options.watch.hunt.report_s;
  std::uint64_t report_ns = report_s > 0 ? after(options.watch.after_s + report_s) : UINT64_MAX;
  bool is_alive = true;
  while (is_alive && is_interrupted == 0 && process.heed_user()) {
    auto& watch = process.watch();
    const auto now_ns = collect::monotonic_ns();
    if (now_ns >= end_ns) break;
    is_alive = watch.look(now_ns);
    if (is_alive && (now_ns >= report_ns || is_asked != 0)) {
      is_asked = 0;
      if (now_ns >= report_ns) report_ns = after(report_s);
      if (options.watch.may_stop) leaks::ask_witness(watch);
      show(profile_of(watch, options.watch.hunt, options.debug), options, known, {});
      print_answer("\n");
      finish_answer();
    }
    if (process.ends_until(std::min({watch.due_ns(), report_ns, end_ns}))) is_alive = false;
  }
  auto& watch = process.watch();
  if (is_alive) {
    if (options.watch.may_stop) leaks::ask_witness(watch);
    watch.stop();
  } else {
    watch.look_at_end();
  }
  auto found = profile_of(watch, options.watch.hunt, options.debug);
  if (!is_alive && found.process.ended == ending::running) found.process.ended = ending::lost;
  const int status = exit_status(options, show(found, options, known, {}));
  const auto why = untold_because(*found.leaks);
  if (status != 0 || options.watch.error_exitcode == 0 || why.empty()) return status;
  say(why);
  return exit_failure;
}

}  // namespace

int leaks(const leaks_options& options) {
  return names_process(options.target) ? watch_process(options) : leaks_of_profile(options);
}

}  // namespace heapledger::cli
