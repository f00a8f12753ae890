// Threads of one name added up: a thousand short workers are one row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct thread_row {
  std::string name;
  std::uint32_t tid = 0;  // of the first
  std::uint64_t threads = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
};

// Most allocations first.
std::vector<thread_row> thread_rows(std::span<const thread_info> threads);

}  // namespace heapledger::analyse
