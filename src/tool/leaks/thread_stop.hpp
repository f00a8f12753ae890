// Stops all threads of a process for a moment, to read their registers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heapledger::leaks {

struct frozen_registers {
  std::vector<std::uint64_t> words;  // of all threads
  std::int64_t stopped_ns = 0;
  std::string obstacle;  // why it was not possible; empty: it was
};

frozen_registers read_registers(pid_t pid);

}  // namespace heapledger::leaks
