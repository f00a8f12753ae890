#include "tool/leaks/thread_stop.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>

#include "tool/collect/process.hpp"

namespace heapledger::leaks {
namespace {

std::set<pid_t> threads_of(pid_t pid) {
  std::set<pid_t> result;
  const auto directory = fmt::format("/proc/{}/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir(directory.c_str()), ::closedir);
  while (tasks) {
    const dirent* entry = ::readdir(tasks.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    pid_t tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc{}) result.insert(tid);
  }
  return result;
}

std::string obstacle_words(pid_t pid, int error) {
  if (error != EPERM) return why_not_stopped(error, {}, {});
  return why_not_stopped(error, collect::read_proc_file(fmt::format("/proc/{}/status", pid), 1 << 16),
                         collect::read_proc_file("/proc/sys/kernel/yama/ptrace_scope", 16));
}

// A signal that came meanwhile is given to the thread when it goes on.
int signal_to_give(int status) {
  const int signal = WSTOPSIG(status);
  const bool is_event = status >> 16 != 0;
  return is_event ? 0 : signal;
}

}  // namespace

std::string why_not_stopped(int error, std::string_view status, std::string_view ptrace_scope) {
  auto reason = fmt::format("the program may not be stopped ({})", std::strerror(error));
  if (error != EPERM) return reason;
  if (const auto at = status.find("TracerPid:\t");
      at != std::string_view::npos && at + 11 < status.size() && status[at + 11] != '0')
    return reason + ": a debugger is at it";
  if (ptrace_scope.empty() || ptrace_scope[0] == '0') return reason + ": be its user, or root";
  if (ptrace_scope[0] == '1')
    return reason +
           ": kernel.yama.ptrace_scope is 1. Let the one who started it look, with heapledger start PID, or be root";
  return reason + ": kernel.yama.ptrace_scope forbids it. Be root";
}

frozen_registers read_registers(pid_t pid) {
  frozen_registers result;
  std::vector<pid_t> seized;
  std::set<pid_t> known;
  // Threads may be made while others are seized: until a look finds no new one.
  for (bool found_new = true; found_new;) {
    found_new = false;
    for (const auto tid : threads_of(pid)) {
      if (!known.insert(tid).second) continue;
      if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0) {
        seized.push_back(tid);
        found_new = true;
      } else if (errno != ESRCH) {
        result.obstacle = obstacle_words(pid, errno);
      }
    }
    if (!result.obstacle.empty()) break;
  }
  const auto begin_ns = collect::monotonic_ns();
  std::vector<std::pair<pid_t, int>> stopped;
  if (result.obstacle.empty()) {
    for (const auto tid : seized) ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    for (const auto tid : seized) {
      int status = 0;
      if (::waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) continue;
      user_regs_struct registers{};
      iovec to{&registers, sizeof registers};
      if (::ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &to) == 0) {
        const auto* words = reinterpret_cast<const std::uint64_t*>(&registers);
        result.words.insert(result.words.end(), words, words + sizeof registers / sizeof *words);
      }
      stopped.emplace_back(tid, signal_to_give(status));
    }
  }
  for (const auto& [tid, signal] : stopped) ::ptrace(PTRACE_DETACH, tid, nullptr, signal);
  if (result.obstacle.empty()) result.stopped_ns = static_cast<std::int64_t>(collect::monotonic_ns() - begin_ns);
  for (const auto tid : seized) {
    bool is_done = false;
    for (const auto& each : stopped) is_done = is_done || each.first == tid;
    if (is_done) continue;
    // Seized and running: it has to stop for a moment to be let go.
    int status = 0;
    if (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0 && ::waitpid(tid, &status, __WALL) == tid &&
        WIFSTOPPED(status))
      ::ptrace(PTRACE_DETACH, tid, nullptr, signal_to_give(status));
  }
  return result;
}

}  // namespace heapledger::leaks
