// Stops all threads of a process for a moment, to read their registers. The moment ends after 50 ms, whatever some
// thread is at; then nothing is known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapledger::leaks {

struct frozen_registers {
  std::vector<std::uint64_t> words;  // of all threads
  std::int64_t stopped_ns = 0;
  std::string obstacle;  // why it was not possible; empty: it was
};

frozen_registers read_registers(pid_t pid);

// Why the kernel refused, and what would help: by errno, /proc/PID/status, and kernel.yama.ptrace_scope where there is
// one.
std::string why_not_stopped(int error, std::string_view status, std::string_view ptrace_scope);

}  // namespace heapledger::leaks
