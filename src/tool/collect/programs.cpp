#include "tool/collect/programs.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <memory>
#include <string_view>

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

// The kernel writes a line feed in a name as \012, and nothing else so.
std::string unescaped(std::string_view name) {
  std::string result(name);
  for (std::size_t at = 0; (at = result.find("\\012", at)) != std::string::npos; ++at) result.replace(at, 4, "\n");
  return result;
}

bool is_plain_file(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_segment_of(const mapping& map, pid_t pid, const std::string& path) {
  if (!is_plain_file(path) || !segment_file::is_ready(path, links::refused)) return false;
  try {
    const segment_file segment(path, links::refused);
    return maps_segment(map, segment) && is_of_process(segment, pid);
  } catch (const input_error&) {
    return false;  // of another version, or no segment
  }
}

std::optional<pid_t> pid_of(std::string_view name) {
  pid_t pid = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (result.ec != std::errc{} || result.ptr != name.data() + name.size() || pid <= 0) return {};
  return pid;
}

bool process_exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

}  // namespace

std::optional<running_program> find_program(pid_t pid) {
  const auto maps = read_memory_file(pid, "maps", maps_limit);
  if (maps.find("/libheapledger.so") == std::string::npos) return {};
  std::optional<running_program> found;
  for_each_mapping(maps, [&](const mapping& map, std::string_view) {
    if (found || !map.is_shared || !map.writable || !map.name.starts_with('/')) return;
    const auto path = unescaped(map.name);
    if (!is_segment_of(map, pid, path)) return;
    found.emplace();
    found->segment = path;
  });
  if (!found) return {};
  found->pid = pid;
  found->command = command_of(pid);
  char exe[4096];
  const ssize_t length = ::readlink(fmt::format("/proc/{}/exe", thread_with_memory(pid)).c_str(), exe, sizeof exe);
  if (length > 0) found->exe.assign(exe, static_cast<std::size_t>(length));
  return found;
}

running_program await_program(pid_t pid) {
  constexpr int waits = 200;
  for (int wait = 0;; ++wait) {
    if (auto program = find_program(pid)) return *program;
    const auto maps = read_memory_file(pid, "maps", maps_limit);
    if (wait == waits || maps.find("/libheapledger.so") == std::string::npos) break;
    const timespec moment{0, 10'000'000};
    ::nanosleep(&moment, nullptr);
  }
  refuse_process(pid);
}

void refuse_process(pid_t pid) {
  const auto name = fmt::format("process {}", pid);
  if (!process_exists(pid))
    throw input_error(
        fmt::format("there is no process {}; heapledger ps lists the programs that are under heapledger", pid));
  if (has_no_threads_left(pid)) throw input_error(name, "it has ended, and its parent has not waited for it yet");
  if (::geteuid() != 0 && ::kill(pid, 0) == 0 && hides_memory(pid))
    throw input_error(name, "it hides its memory (PR_SET_DUMPABLE): root may look at it",
                      fmt::format("sudo heapledger report {}", pid));
  throw input_error(name, "it is not under heapledger, or not yours to look at",
                    fmt::format("heapledger ps lists those that are; heapledger attach {} begins with it", pid));
}

std::vector<running_program> find_programs() {
  std::vector<running_program> programs;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  while (processes) {
    const dirent* entry = ::readdir(processes.get());
    if (entry == nullptr) break;
    const auto pid = pid_of(entry->d_name);
    if (!pid) continue;
    if (auto program = find_program(*pid)) programs.push_back(std::move(*program));
  }
  std::sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return programs;
}

}  // namespace heapledger::collect
