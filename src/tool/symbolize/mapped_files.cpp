#include "tool/symbolize/mapped_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::string_view deleted_suffix = " (deleted)";

std::string name_of(std::string_view path) {
  if (path.ends_with(deleted_suffix)) path.remove_suffix(deleted_suffix.size());
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

std::vector<mapped_file> mapped_files(pid_t pid) {
  std::vector<mapped_file> found;
  const auto exe = fmt::format("/proc/{}/exe", pid);
  std::error_code failed;
  if (const auto path = std::filesystem::read_symlink(exe, failed); !failed)
    found.push_back({name_of(path.native()), exe});
  std::set<std::string, std::less<>> seen;
  const auto maps = collect::read_memory_file(pid, "maps", collect::maps_limit);
  collect::for_each_mapping(maps, [&](const collect::mapping& map, std::string_view) {
    if (map.offset != 0 || !map.name.starts_with('/') || !seen.emplace(map.name).second) return;
    const auto name = name_of(map.name);
    found.push_back({name, fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, map.start, map.end)});
    found.push_back({name, fmt::format("/proc/{}/root{}", pid, map.name)});
  });
  return found;
}

}  // namespace heapledger::symbols
