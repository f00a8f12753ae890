#include "tool/cli/run_parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "tool/cli/run_messages.hpp"

namespace heapledger::cli {
namespace {

std::string words_when_interrupted;

}  // namespace

std::string folder_of_output(const std::string& output) {
  const auto slash = output.rfind('/');
  return slash == std::string::npos ? "." : output.substr(0, slash + 1);
}

collect::probe_settings settings_for(const run_options& options, const collect::session_directory& directory) {
  collect::probe_settings settings;
  settings.library = collect::find_probe();
  settings.session_directory = directory.path();
  settings.stacks = options.stacks;
  settings.depth = options.depth;
  settings.follow = options.follow;
  settings.only = options.only;
  settings.snapshot_signal = options.snapshot_signal;
  settings.lifetimes = options.lifetimes;
  settings.check = options.check;
  return settings;
}

interruptible::interruptible(const std::string& session_directory) {
  words_when_interrupted = fmt::format(
      "\nheapledger: interrupted; what was counted is kept in {}; `heapledger report` reads each "
      "file there\n",
      shell_word(session_directory));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction previous {};
    struct sigaction action {};
    action.sa_handler = leave;
    if (sigaction(signal, nullptr, &previous) == 0 && previous.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

void interruptible::leave(int signal) {
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, words_when_interrupted.data(), words_when_interrupted.size());
  ::_exit(128 + signal);
}

void fill_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

}  // namespace heapledger::cli
