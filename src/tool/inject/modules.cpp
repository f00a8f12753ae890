#include "tool/inject/modules.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"
#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t most_modules = 20'000;

// The first page tells: it has the ELF header, the segments, and mostly the build-id.
bool is_what_is_mapped(pid_t pid, const module& of, int fd) {
  std::array<char, 4096> mapped, held;
  const auto size = std::min<std::uint64_t>(mapped.size(), of.first_end - of.start);
  return size >= 64 && read_memory(pid, of.start, mapped.data(), size) &&
         ::pread(fd, held.data(), size, 0) == static_cast<ssize_t>(size) &&
         std::memcmp(mapped.data(), held.data(), size) == 0 &&
         std::memcmp(held.data(),
                     "\x7f"
                     "ELF",
                     4) == 0;
}

// The process may have put anything under the path; to open a device may set it in motion.
collect::unique_fd open_regular(const std::string& path) {
  const collect::unique_fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return collect::unique_fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::vector<module> read_modules(pid_t pid) {
  const auto maps = collect::read_memory_file(pid, "maps", collect::maps_limit);
  std::vector<module> found;
  std::vector<bool> has_code;
  collect::for_each_mapping(maps, [&](const collect::mapping& map, std::string_view) {
    if (found.size() == most_modules) return;
    const bool is_vdso = map.name == "[vdso]";
    if (!is_vdso && (!map.name.starts_with('/') || map.is_shared)) return;
    if (!found.empty() && !is_vdso && map.offset != 0 && found.back().path == map.name) {
      found.back().end = map.end;
      has_code.back() = has_code.back() || map.executable;
    } else if (map.offset == 0) {
      found.push_back({map.start, map.end, map.end, std::string(map.name), is_vdso});
      has_code.push_back(map.executable);
    }
  });
  std::size_t at = 0;
  std::erase_if(found, [&](const module&) { return !has_code[at++]; });
  return found;
}

collect::unique_fd open_module(pid_t pid, const module& of) {
  for (const auto& path : {fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, of.start, of.first_end),
                           fmt::format("/proc/{}/root{}", pid, of.path)}) {
    auto fd = open_regular(path);
    if (fd && is_what_is_mapped(pid, of, fd.get())) return fd;
  }
  return {};
}

const module* module_at(const std::vector<module>& modules, std::uint64_t address) {
  const auto after = std::upper_bound(modules.begin(), modules.end(), address,
                                      [](std::uint64_t a, const module& b) { return a < b.start; });
  return after == modules.begin() || address >= std::prev(after)->end ? nullptr : &*std::prev(after);
}

library_kind kind_of(const std::string& name) {
  if (name.starts_with("libc.so.6") || name.starts_with("libc-2.")) return library_kind::libc;
  if (name.starts_with("ld-linux") || name.starts_with("ld-2.")) return library_kind::loader;
  return library_kind::other;
}

}  // namespace heapledger::inject
