#include "tool/collect/memory_files.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "tool/collect/process.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t mounts_limit = 1 << 20;

// 36 35 0:31 / /dev/shm rw,nosuid shared:9 - tmpfs tmpfs rw
std::set<dev_t> memory_file_systems() {
  std::set<dev_t> found;
  std::istringstream mounts(read_proc_file("/proc/self/mountinfo", mounts_limit));
  for (std::string line; std::getline(mounts, line);) {
    const auto type = line.find(" - ");
    unsigned numbers[2];
    if (type == std::string::npos || std::sscanf(line.c_str(), "%*u %*u %u:%u", &numbers[0], &numbers[1]) != 2)
      continue;
    const auto name = std::string_view(line).substr(type + 3);
    if (name.starts_with("tmpfs ") || name.starts_with("devtmpfs ")) found.insert(makedev(numbers[0], numbers[1]));
  }
  return found;
}

}  // namespace

bool is_memory_file(const mapping& map) {
  constexpr std::array<std::string_view, 3> of_the_kernels_own = {"/memfd:", "/dev/zero", "/SYSV"};
  if (map.inode == 0) return false;
  if (std::any_of(of_the_kernels_own.begin(), of_the_kernels_own.end(),
                  [&](std::string_view begin) { return map.name.starts_with(begin); }))
    return true;
  static const auto known = memory_file_systems();
  return known.contains(map.device);
}

}  // namespace heapledger::collect
