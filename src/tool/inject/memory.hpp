// The memory of another process, as far as we may read it. What is read there is hostile: it is bytes, and no more.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace heapledger::inject {

inline constexpr std::uint64_t page_bytes = 4096;

// All or nothing.
bool read_memory(pid_t pid, std::uint64_t address, void* to, std::size_t bytes);
bool write_memory(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes);
// Also where the process itself may not write, in a page of its own then: only for who traces it.
bool write_any_memory(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes);

// Up to the NUL, or `most` bytes; empty where nothing can be read.
std::string read_text(pid_t pid, std::uint64_t address, std::size_t most);

}  // namespace heapledger::inject
