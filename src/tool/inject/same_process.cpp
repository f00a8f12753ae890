#include "tool/inject/same_process.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tool/collect/process.hpp"

namespace heapledger::inject {

same_process::same_process(pid_t pid) : pid_(pid), pidfd_(collect::open_pidfd(pid)) {}

bool same_process::is_there() const {
  return !pidfd_ || ::syscall(SYS_pidfd_send_signal, pidfd_.get(), 0, nullptr, 0) == 0 || errno != ESRCH;
}

// In this order: as long as the process is there, what its number names is it.
bool same_process::has(pid_t tid) const {
  const bool is_listed = ::access(fmt::format("/proc/{}/task/{}", pid_, tid).c_str(), F_OK) == 0;
  return is_listed && is_there();
}

}  // namespace heapledger::inject
