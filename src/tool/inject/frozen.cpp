#include "tool/inject/frozen.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "tool/collect/process.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t limit = 1 << 20;

// "0::/system.slice/nginx.service", relative to the group that we take for the root.
std::string group_of(pid_t pid) {
  std::istringstream lines(collect::read_proc_file(fmt::format("/proc/{}/cgroup", pid), limit));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return {};
}

// "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw": the folder of the root group.
std::string root_folder() {
  std::istringstream lines(collect::read_proc_file("/proc/self/mountinfo", limit));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string id, parent, device, root, folder;
    words >> id >> parent >> device >> root >> folder;
    if (root == "/") return folder;
  }
  return {};
}

}  // namespace

bool is_frozen(pid_t pid) {
  const auto group = group_of(pid), folder = root_folder();
  if (group.empty() || folder.empty()) return false;
  const auto events = "\n" + collect::read_proc_file(fmt::format("{}{}/cgroup.events", folder, group), limit);
  return events.find("\nfrozen 1\n") != std::string::npos;
}

}  // namespace heapledger::inject
