#include "tool/inject/same_process.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tool/collect/process.hpp"
#include "tool/inject/memory.hpp"

namespace heapledger::inject {

namespace {

// The random bytes that the kernel gives to every program that it executes.
std::string image_of(pid_t pid) {
  const auto vector = collect::read_proc_file(fmt::format("/proc/{}/auxv", pid), 1 << 16);
  std::string bytes(16, '\0');
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= vector.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry{};
    std::memcpy(&entry, vector.data() + at, sizeof entry);
    if (entry.a_type == AT_RANDOM && read_memory(pid, entry.a_un.a_val, bytes.data(), bytes.size())) return bytes;
  }
  return {};
}

}  // namespace

same_process::same_process(pid_t pid) : pid_(pid), pidfd_(collect::open_pidfd(pid)), image_(image_of(pid)) {}

bool same_process::is_there() const {
  return !pidfd_ || ::syscall(SYS_pidfd_send_signal, pidfd_.get(), 0, nullptr, 0) == 0 || errno != ESRCH;
}

// In this order: as long as the process is there, what its number names is it.
bool same_process::has(pid_t tid) const {
  const bool is_listed = ::access(fmt::format("/proc/{}/task/{}", pid_, tid).c_str(), F_OK) == 0;
  return is_listed && is_there();
}

bool same_process::runs_the_same() const {
  return image_of(pid_) == image_;
}

}  // namespace heapledger::inject
