// What `attach` does to a process, with any library: injector PID LIBRARY FUNCTION ARGUMENT [PATIENCE_MS [DIES_AT]]
// Prints what the function returned, for how long the thread stood still, how many were looked at, and how many moments
// there were to die at, before and after each request to the kernel; or says why not. Who dies says at which thread.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tool/inject/inject.hpp"

namespace {

std::atomic<long> moments{0};
long dies_at = -1;
std::atomic<int> threads_seized{0};

void moment() {
  if (threads_seized == 0 || moments++ != dies_at) return;
  ::dprintf(STDOUT_FILENO, "%d\n", threads_seized.load());
  ::kill(::getpid(), SIGKILL);
}

template <class Request>
auto between_moments(Request request) {
  moment();
  const auto result = request();
  moment();
  return result;
}

}  // namespace

// In place of libc's, for the library that injects.
extern "C" {

long ptrace(__ptrace_request request, ...) noexcept {
  va_list list;
  va_start(list, request);
  const auto pid = va_arg(list, pid_t);
  void* const address = va_arg(list, void*);
  void* const data = va_arg(list, void*);
  va_end(list);
  if (request == PTRACE_SEIZE) ++threads_seized;
  const bool peeks = request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER;
  long word = 0;
  const long result =
      between_moments([&] { return ::syscall(SYS_ptrace, request, pid, address, peeks ? &word : data); });
  return peeks && result == 0 ? word : result;
}

ssize_t process_vm_readv(pid_t pid, const iovec* ours, unsigned long a, const iovec* theirs, unsigned long b,
                         unsigned long flags) noexcept {
  return between_moments([&] { return ::syscall(SYS_process_vm_readv, pid, ours, a, theirs, b, flags); });
}

ssize_t process_vm_writev(pid_t pid, const iovec* ours, unsigned long a, const iovec* theirs, unsigned long b,
                          unsigned long flags) noexcept {
  return between_moments([&] { return ::syscall(SYS_process_vm_writev, pid, ours, a, theirs, b, flags); });
}
}

int main(int argc, char** argv) {
  using namespace heapledger::inject;
  if (argc < 5) return 2;
  try {
    const auto in = examine_target(static_cast<pid_t>(std::atoi(argv[1])), argv[2]);
    wish what{.library = argv[2], .function = argv[3], .argument = argv[4]};
    if (argc > 5) what.patience_ns = std::strtoull(argv[5], nullptr, 10) * 1'000'000;
    if (argc > 6) dies_at = std::atol(argv[6]);
    const auto got = call_in(in, what);
    std::printf("%d %llu %u %ld\n", got.result, static_cast<unsigned long long>(got.stopped_ns), got.tries,
                moments.load());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
