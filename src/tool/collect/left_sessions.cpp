#include "tool/collect/left_sessions.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace heapledger::collect {
namespace {

namespace fs = std::filesystem;

// heapledger-UID-PID-RANDOM
bool is_of_ended_process(std::string_view name) {
  const auto begin = fmt::format("heapledger-{}-", ::getuid());
  if (!name.starts_with(begin)) return false;
  name.remove_prefix(begin.size());
  pid_t maker = 0;
  const auto number = std::from_chars(name.data(), name.data() + name.size(), maker);
  if (number.ec != std::errc() || maker <= 0 || !name.substr(number.ptr - name.data()).starts_with('-')) return false;
  return ::kill(maker, 0) != 0 && errno == ESRCH;
}

// Segments are nearly all holes.
std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code unreadable;
  for (fs::recursive_directory_iterator entry(folder, unreadable), end; !unreadable && entry != end;
       entry.increment(unreadable)) {
    struct stat status {};
    constexpr std::uint64_t unit_of_blocks = 512;
    if (::lstat(entry->path().c_str(), &status) == 0)
      bytes += unit_of_blocks * static_cast<std::uint64_t>(status.st_blocks);
  }
  return bytes;
}

}  // namespace

bool is_left(const std::string& directory) {
  const fs::path path(directory);
  return is_of_ended_process(path.filename().string()) || is_of_ended_process(path.parent_path().filename().string());
}

std::vector<left_session> left_sessions(const std::string& folder, const std::vector<std::string>& segments) {
  std::vector<std::pair<fs::file_time_type, left_session>> found;
  std::error_code unknown;
  for (fs::directory_iterator entry(folder, unknown), end; !unknown && entry != end; entry.increment(unknown)) {
    const auto path = entry->path().string();
    std::error_code gone;
    if (!is_of_ended_process(entry->path().filename().string()) || entry->is_symlink(gone) ||
        !entry->is_directory(gone))
      continue;
    if (std::any_of(segments.begin(), segments.end(),
                    [&](const auto& segment) { return segment.starts_with(path + "/"); }))
      continue;
    found.emplace_back(entry->last_write_time(gone), left_session{path, bytes_in(path)});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<left_session> sessions;
  for (auto& [when, session] : found) sessions.push_back(std::move(session));
  return sessions;
}

}  // namespace heapledger::collect
