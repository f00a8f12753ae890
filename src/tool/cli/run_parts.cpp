#include "tool/cli/run_parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "tool/cli/run_messages.hpp"

namespace heapledger::cli {
namespace {

std::string folder_when_interrupted;
std::string words_when_interrupted;

constexpr std::array to_end_us = {SIGINT, SIGTERM, SIGHUP};

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
  folder_when_interrupted = session_directory;
  words_when_interrupted = fmt::format(
      "\nheapledger: interrupted; what was counted is kept in {}; `heapledger report` reads each "
      "file there\n",
      shell_word(session_directory));
  for (const int signal : to_end_us) {
    struct sigaction previous {};
    struct sigaction action {};
    action.sa_handler = leave;
    if (sigaction(signal, nullptr, &previous) == 0 && previous.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

void interruptible::end() const {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  for (const int signal : to_end_us) sigaction(signal, &ignored, nullptr);
}

void interruptible::leave(int signal) {
  // The last profile was written just now: nothing is kept there, and the end is near.
  const int error = errno;
  const bool is_all_written = ::rmdir(folder_when_interrupted.c_str()) == 0;
  errno = error;
  if (is_all_written) return;
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, words_when_interrupted.data(), words_when_interrupted.size());
  ::_exit(128 + signal);
}

void fill_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

}  // namespace heapledger::cli
