// The text of /proc/PID/maps and /proc/PID/smaps, one mapping at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace heapledger::collect {

struct mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // into the file
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool is_shared = false;
  dev_t device = 0;
  ino_t inode = 0;
  std::string_view name;  // a path, [heap], [anon:...], or empty
};

// Calls back with each mapping and the lines that follow it up to the next one (empty for maps). Lines that it does
// not understand belong to the mapping before them.
void for_each_mapping(std::string_view text, const std::function<void(const mapping&, std::string_view details)>& see);

// The value in bytes of a line like "Rss:   12 kB" in the details; 0 where there is none.
std::uint64_t detail_bytes(std::string_view details, std::string_view key);
// Whether the line "VmFlags:" holds the two-letter flag.
bool has_vm_flag(std::string_view details, std::string_view flag);

}  // namespace heapledger::collect
