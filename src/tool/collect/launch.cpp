#include "tool/collect/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr int own_failure = 125;
constexpr int not_executable = 126;
constexpr int not_found = 127;

constexpr std::array passed_on = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::array to_end_us = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array from_terminal = {SIGINT, SIGQUIT, SIGHUP};

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const auto& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void throw_exec_error(const std::string& program, int error) {
  struct stat status {};
  const bool is_path = program.find('/') != std::string::npos;
  if (error == ENOENT && is_path && ::stat(program.c_str(), &status) == 0)
    throw launch_error(not_executable, fmt::format("{}: its interpreter does not exist: see its first line, or "
                                                   "`readelf -l` of it",
                                                   program));
  if (error == ENOENT)
    throw launch_error(not_found, fmt::format("{}: program not found{}", program, is_path ? "" : " in PATH"));
  if (error == EACCES && is_path && ::stat(program.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    throw launch_error(not_executable, fmt::format("{}: is a directory", program));
  if (error == ENOTDIR) throw launch_error(not_found, fmt::format("{}: program not found", program));
  throw launch_error(not_executable, fmt::format("{}: cannot be executed: {}", program, std::strerror(error)));
}

}  // namespace

struct held_signals::state {
  sigset_t mask;
  struct sigaction child;
  struct sigaction pipe;
  sigset_t ignored;
};

held_signals::held_signals() : before_(new state{}) {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : passed_on) sigaddset(&held, signal);
  sigaddset(&held, SIGCHLD);
  sigprocmask(SIG_BLOCK, &held, &before_->mask);
  sigemptyset(&before_->ignored);
  for (const int signal : passed_on) {
    struct sigaction was {};
    if (sigaction(signal, nullptr, &was) == 0 && was.sa_handler == SIG_IGN) sigaddset(&before_->ignored, signal);
  }
  sigdelset(&before_->ignored, SIGINT);  // shells ignore it for what runs behind; who sends it there means it
  // An ignored SIGCHLD would let the kernel reap the program before we learn its status.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &before_->child);
  standard.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &standard, &before_->pipe);
  fd_ = unique_fd(::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
}

void held_signals::restore_in_child() const noexcept {
  sigaction(SIGCHLD, &before_->child, nullptr);
  sigaction(SIGPIPE, &before_->pipe, nullptr);
  sigprocmask(SIG_SETMASK, &before_->mask, nullptr);
}

void held_signals::pass_on(pid_t program) {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const bool from_process = info.ssi_code <= 0;  // SI_USER, SI_QUEUE, SI_TKILL; the kernel's codes are above
    if (info.ssi_signo != SIGCHLD && from_process) ::kill(program, static_cast<int>(info.ssi_signo));
  }
}

bool held_signals::were_to_end_us() {
  bool asked = false;
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    asked =
        asked || (std::find(to_end_us.begin(), to_end_us.end(), static_cast<int>(info.ssi_signo)) != to_end_us.end() &&
                  sigismember(&before_->ignored, static_cast<int>(info.ssi_signo)) == 0);
  return asked;
}

int held_signals::wish_to_end() const {
  sigset_t came;
  sigpending(&came);
  for (const int signal : to_end_us)
    if (sigismember(&came, signal) == 1 && sigismember(&before_->ignored, signal) == 0) return signal;
  return 0;
}

void held_signals::release() {
  if (before_ == nullptr) return;
  for (const int signal : from_terminal) {
    struct sigaction ignored {};
    struct sigaction previous {};
    ignored.sa_handler = SIG_IGN;
    sigaction(signal, &ignored, &previous);  // drops what is pending
    sigaction(signal, &previous, nullptr);
  }
  fd_.reset();
  sigaction(SIGCHLD, &before_->child, nullptr);
  sigprocmask(SIG_SETMASK, &before_->mask, nullptr);
  delete before_;
  before_ = nullptr;
}

pid_t launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const held_signals& signals) {
  const auto arguments = pointers_to(command);
  const auto variables = pointers_to(environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw launch_error(own_failure, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const unique_fd from_child(ends[0]);
  unique_fd to_parent(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) throw launch_error(own_failure, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid == 0) {
    signals.restore_in_child();
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(to_parent.get(), &error, sizeof error);
    ::_exit(not_found);
  }
  to_parent.reset();
  int error = 0;
  ssize_t got = 0;
  do got = ::read(from_child.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (got == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  throw_exec_error(command[0], error);
}

std::optional<int> try_wait(pid_t program) {
  int status = 0;
  pid_t got = 0;
  do got = ::waitpid(program, &status, WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == program) return status;
  return {};
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace heapledger::collect
