#include "tool/leaks/thread_stop.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <future>
#include <set>
#include <string_view>

#include "tool/collect/process.hpp"

namespace heapledger::leaks {
namespace {

// One that waits for a disk, or for the child of a vfork, does not stop before that is over.
constexpr std::uint64_t longest_stop_ns = 50'000'000;

std::string obstacle_words(pid_t pid, int error) {
  if (error != EPERM) return why_not_stopped(error, {}, {});
  return why_not_stopped(error, collect::read_proc_file(fmt::format("/proc/{}/status", pid), 1 << 16),
                         collect::read_proc_file("/proc/sys/kernel/yama/ptrace_scope", 16));
}

enum class stop_state { not_yet, stopped, gone };

// Looks only: how a child of ours ended is for another to learn. `signal`: one that came meanwhile, which the thread is
// given when it goes on.
stop_state stop_state_of(pid_t tid, int& signal) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0)
    return errno == EINTR ? stop_state::not_yet : stop_state::gone;
  if (info.si_pid == 0) return stop_state::not_yet;
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return stop_state::gone;
  const bool is_event = info.si_status >> 8 != 0;
  signal = is_event ? 0 : info.si_status;
  return stop_state::stopped;
}

// Most threads stop within microseconds, and no other may stand still for longer than it has to.
void wait_a_little(std::uint64_t waited_ns) {
  if (waited_ns < 200'000) {
    ::sched_yield();
  } else {
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
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

namespace {

// A thread that has ended may not be seized; the first of a process stays to be seen until the others have ended.
bool has_ended(pid_t pid, pid_t tid) {
  const auto stat = collect::read_proc_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), 4096);
  const auto name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat.find_first_of("ZXx", name_end + 2) == name_end + 2;
}

std::vector<pid_t> seize_threads(pid_t pid, std::string& obstacle) {
  constexpr int most_looks = 100;
  std::vector<pid_t> seized;
  std::set<pid_t> known;
  bool found_new = true;
  // Threads may be made while others are seized: until a look finds no new one.
  for (int looks = 0; found_new && obstacle.empty(); ++looks) {
    found_new = false;
    if (looks == most_looks) obstacle = "the program makes threads faster than they can be stopped";
    for (const auto tid : collect::threads_of(pid)) {
      if (!known.insert(tid).second) continue;
      if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0) {
        seized.push_back(tid);
        found_new = true;
      } else if (const int error = errno; error != ESRCH && !has_ended(pid, tid)) {
        obstacle = obstacle_words(pid, error);
      }
    }
  }
  return seized;
}

void add_registers(pid_t tid, std::vector<std::uint64_t>& to) {
  user_regs_struct registers{};
  iovec into{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &into) != 0) return;
  const auto* words = reinterpret_cast<const std::uint64_t*>(&registers);
  to.insert(to.end(), words, words + sizeof registers / sizeof *words);
}

// In a thread of its own: one that did not stop cannot be let go by name, but is when who seized it ends.
frozen_registers read_and_end(pid_t pid) {
  frozen_registers result;
  const auto seized = seize_threads(pid, result.obstacle);
  if (!result.obstacle.empty()) return result;
  const auto begin_ns = collect::monotonic_ns();
  for (const auto tid : seized) ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  std::vector<std::pair<pid_t, int>> stopped;
  for (const auto tid : seized) {
    int signal = 0;
    auto state = stop_state_of(tid, signal);
    while (state == stop_state::not_yet && collect::monotonic_ns() - begin_ns < longest_stop_ns) {
      wait_a_little(collect::monotonic_ns() - begin_ns);
      state = stop_state_of(tid, signal);
    }
    if (state == stop_state::not_yet) {
      result.obstacle = fmt::format("a thread of the program did not stop within {} ms", longest_stop_ns / 1'000'000);
      break;
    }
    if (state == stop_state::gone) continue;
    add_registers(tid, result.words);
    stopped.emplace_back(tid, signal);
  }
  for (const auto& [tid, signal] : stopped) ::ptrace(PTRACE_DETACH, tid, nullptr, signal);
  if (result.obstacle.empty()) result.stopped_ns = static_cast<std::int64_t>(collect::monotonic_ns() - begin_ns);
  return result;
}

}  // namespace

frozen_registers read_registers(pid_t pid) {
  return std::async(std::launch::async, read_and_end, pid).get();
}

}  // namespace heapledger::leaks
