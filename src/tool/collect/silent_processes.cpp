#include "tool/collect/silent_processes.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "tool/collect/process.hpp"

namespace heapledger::collect {
namespace {

pid_t pid_of(std::string_view name) {
  pid_t pid = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), pid);
  return result.ec == std::errc{} && result.ptr == name.data() + name.size() ? pid : 0;
}

std::string program_of(pid_t pid) {
  char path[4096];
  const ssize_t length = ::readlink(fmt::format("/proc/{}/exe", thread_with_memory(pid)).c_str(), path, sizeof path);
  const std::string_view known(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(known.substr(known.rfind('/') + 1));
}

}  // namespace

std::vector<silent_process> silent_processes(const std::string& session_directory, const std::vector<pid_t>& counted) {
  // Its last part is random, and the same by whatever links the directory was named.
  const auto segments = session_directory.substr(session_directory.rfind('/')) + "/";
  const auto ours = start_ticks_of(::getpid());
  std::vector<silent_process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  while (processes) {
    const dirent* entry = ::readdir(processes.get());
    if (entry == nullptr) break;
    const auto pid = pid_of(entry->d_name);
    if (pid == 0 || std::find(counted.begin(), counted.end(), pid) != counted.end()) continue;
    const auto its = start_ticks_of(pid);
    if (!its || (ours && *its < *ours)) continue;
    if (read_memory_file(pid, "maps", maps_limit).find(segments) != std::string::npos)
      found.push_back({pid, program_of(pid)});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace heapledger::collect
