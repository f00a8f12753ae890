#include "tool/inject/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::inject {

bool read_memory(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  const iovec ours{to, bytes};
  const iovec theirs{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
}

bool write_memory(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  const iovec ours{const_cast<void*>(from), bytes};
  const iovec theirs{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_writev(pid, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
}

bool write_any_memory(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  const collect::unique_fd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_WRONLY | O_CLOEXEC));
  return memory && ::pwrite(memory.get(), from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

std::string read_text(pid_t pid, std::uint64_t address, std::size_t most) {
  constexpr std::size_t piece = 256;  // divides a page, so that no piece begins in one that is there and ends beyond
  std::string text;
  while (text.size() < most) {
    char bytes[piece];
    const auto at = address + text.size();
    const auto length = std::min({piece - at % piece, most - text.size(), piece});
    if (!read_memory(pid, at, bytes, length)) break;
    char* const end = std::find(bytes, bytes + length, '\0');
    text.append(bytes, static_cast<std::size_t>(end - bytes));
    if (end != bytes + length) break;
  }
  return text;
}

}  // namespace heapledger::inject
