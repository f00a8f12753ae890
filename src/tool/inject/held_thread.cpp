#include "tool/inject/held_thread.hpp"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "tool/collect/process.hpp"

namespace heapledger::inject {
namespace {

constexpr std::uint64_t longest_stop_ns = 500'000'000;  // on a machine that is busy, until its turn comes
constexpr std::uint64_t spin_ns = 2'000'000;

bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

trace_stop kind_of_stop(int status) {
  if (!WIFSTOPPED(status)) return {trace_stop::kind::gone, 0};
  const int signal = WSTOPSIG(status);
  if (status >> 16 == PTRACE_EVENT_STOP)
    return {is_stop_signal(signal) ? trace_stop::kind::group_stop : trace_stop::kind::event, signal};
  if (signal == (SIGTRAP | 0x80)) return {trace_stop::kind::system_call, 0};
  if (status >> 16 != 0) return {trace_stop::kind::event, 0};
  return {trace_stop::kind::signal, signal};
}

}  // namespace

held_thread::~held_thread() {
  if (is_seized_ && is_stopped_) ::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
}

seized held_thread::seize(int& error) {
  if (!is_seized_) {
    if (::ptrace(PTRACE_SEIZE, tid_, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
      error = errno;
      return error == ESRCH ? seized::gone : seized::refused;
    }
    is_seized_ = true;
    interrupt();
  }
  const auto begin_ns = collect::monotonic_ns();
  for (;;) {
    const auto spent_ns = collect::monotonic_ns() - begin_ns;
    const auto stop = await(longest_stop_ns - std::min(spent_ns, longest_stop_ns));
    is_stopped_ = stop.what != trace_stop::kind::none;
    switch (stop.what) {
      case trace_stop::kind::event:
        since_ns_ = collect::monotonic_ns();
        return seized::stopped;
      case trace_stop::kind::group_stop:
        return seized::group_stop;
      case trace_stop::kind::gone:
        forget();
        return seized::gone;
      case trace_stop::kind::none:
        return seized::busy;
      case trace_stop::kind::signal:  // it was on its way; ours comes next
        run(stop.signal);
        break;
      case trace_stop::kind::system_call:
        run();
        break;
    }
  }
}

bool held_thread::read(user_regs_struct& registers) const {
  return ::ptrace(PTRACE_GETREGS, tid_, nullptr, &registers) == 0;
}

bool held_thread::write(const user_regs_struct& registers) const {
  return ::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers) == 0;
}

bool held_thread::run_to_system_call(int signal) const {
  return ::ptrace(PTRACE_SYSCALL, tid_, nullptr, signal) == 0;
}

bool held_thread::run(int signal) const {
  return ::ptrace(PTRACE_CONT, tid_, nullptr, signal) == 0;
}

void held_thread::interrupt() const {
  ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr);
}

// Most stops come within microseconds, and the thread may not stand still for longer than it has to.
trace_stop held_thread::await(std::uint64_t longest_ns) const {
  const auto begin_ns = collect::monotonic_ns();
  for (;;) {
    int status = 0;
    const pid_t got = ::waitpid(tid_, &status, __WALL | WNOHANG);
    if (got == tid_) return kind_of_stop(status);
    if (got < 0 && errno != EINTR) return {trace_stop::kind::gone, 0};
    const auto waited_ns = collect::monotonic_ns() - begin_ns;
    if (waited_ns >= longest_ns) return {};
    if (waited_ns < spin_ns) {
      ::sched_yield();
    } else {
      const timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

bool held_thread::is_at_entry() const {
  __ptrace_syscall_info info{};
  const long got = ::ptrace(PTRACE_GET_SYSCALL_INFO, tid_, sizeof info, &info);
  return got > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

std::uint64_t held_thread::stopped_ns() const {
  return collect::monotonic_ns() - since_ns_;
}

}  // namespace heapledger::inject
