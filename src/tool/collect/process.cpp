#include "tool/collect/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>

#include "tool/collect/mapping.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t stat_limit = 4096;
constexpr std::size_t status_limit = 16384;

// The first version of the structure in linux/pidfd.h, which every later kernel takes.
struct pidfd_info {
  std::uint64_t mask;
  std::uint64_t cgroup_id;
  std::uint32_t process_and_user_ids[11];
  std::int32_t exit_code;  // a wait status
};
static_assert(sizeof(pidfd_info) == 64);
constexpr std::uint64_t pidfd_info_exit = 1 << 3;
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, pidfd_info);

// Field `number` of /proc/PID/stat, counted from 1 as proc(5) does; only those after the program's name.
std::optional<std::uint64_t> stat_field(const std::string& stat, int number) {
  auto at = stat.rfind(')');
  for (int field = 2; field < number && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return {};
  std::uint64_t value = 0;
  const auto result = std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), value);
  if (result.ec != std::errc{}) return {};
  return value;
}

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::optional<int> status_by_pidfd(const unique_fd& pidfd) {
  pidfd_info info{};
  info.mask = pidfd_info_exit;
  if (!pidfd || ::ioctl(pidfd.get(), pidfd_get_info, &info) != 0 || (info.mask & pidfd_info_exit) == 0) return {};
  return info.exit_code;
}

std::optional<int> status_of_zombie(pid_t pid) {
  const auto stat = read_proc_file(fmt::format("/proc/{}/stat", pid), stat_limit);
  const auto name_end = stat.rfind(')');
  const bool is_zombie = name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'Z';
  const auto code = is_zombie ? stat_field(stat, 52) : std::nullopt;
  return code ? std::optional<int>(static_cast<int>(*code)) : std::nullopt;
}

bool is_over(const std::string& stat) {
  const auto name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat.find_first_of("ZXx", name_end + 2) == name_end + 2;
}

// Nothing: all have ended, or there is no such process.
std::optional<pid_t> living_thread_of(pid_t pid) {
  if (!is_over(read_proc_file(fmt::format("/proc/{}/stat", pid), stat_limit))) return pid;
  for (const pid_t tid : threads_of(pid))
    if (tid != pid && !is_over(read_proc_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), stat_limit))) return tid;
  return {};
}

ino_t pid_namespace_of(const char* process) {
  struct stat link {};
  return ::stat(fmt::format("/proc/{}/ns/pid", process).c_str(), &link) == 0 ? link.st_ino : 0;
}

// As the process itself knows it: the last of those that it has, from our namespace to its own.
std::optional<std::uint32_t> own_pid_of(pid_t pid) {
  const auto status = read_proc_file(fmt::format("/proc/{}/status", pid), status_limit);
  const auto begin = status.find("\nNSpid:");
  if (begin == std::string::npos) return {};
  const auto end = std::min(status.find('\n', begin + 1), status.size());
  const auto last = status.find_last_of(" \t", end) + 1;
  std::uint32_t own = 0;
  const auto result = std::from_chars(status.data() + last, status.data() + end, own);
  return result.ec == std::errc{} ? std::optional(own) : std::nullopt;
}

// Whether the process existed when the books began. A pid that was given away since began later.
bool began_before(const std::string& stat, std::uint64_t books_began_monotonic_ns) {
  const auto start_ticks = stat_field(stat, 22);
  const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  if (!start_ticks || ticks_per_second == 0 || *start_ticks > UINT64_MAX / 1'000'000'000) return false;
  const std::uint64_t start_ns = *start_ticks * (1'000'000'000 / ticks_per_second);
  const std::uint64_t suspended_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
  return start_ns <= books_began_monotonic_ns + suspended_ns;
}

}  // namespace

bool maps_segment(const mapping& map, const segment_file& segment) {
  if (map.inode != segment.inode()) return false;
  // On btrfs and overlayfs, stat and maps name different devices for one file.
  const auto& path = segment.path();
  return map.device == segment.device() || map.name.find(path.substr(path.rfind('/') + 1)) != std::string_view::npos;
}

std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

unique_fd open_pidfd(pid_t pid) {
  return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::optional<int> wait_status_of(const unique_fd& pidfd, pid_t pid) {
  if (const auto status = status_by_pidfd(pidfd)) return status;
  if (const auto status = status_of_zombie(pid)) return status;
  return status_by_pidfd(pidfd);  // reaped in between
}

std::optional<std::uint64_t> start_ticks_of(pid_t pid) {
  return stat_field(read_proc_file(fmt::format("/proc/{}/stat", pid), stat_limit), 22);
}

image_state find_image(const segment_file& segment) {
  const auto pid = has_own_pids(segment) ? find_outside_pid(segment) : static_cast<pid_t>(segment.header().pid);
  return pid == 0 ? image_state::gone : find_image(segment, pid);
}

image_state find_image(const segment_file& segment, pid_t pid) {
  const auto& header = segment.header();
  const auto stat = read_proc_file(fmt::format("/proc/{}/stat", pid), stat_limit);
  if (stat.empty() || !began_before(stat, header.start_monotonic_ns)) return image_state::gone;
  const auto maps = read_memory_file(pid, "maps", maps_limit);
  if (maps.empty()) return image_state::gone;
  bool mapped = false;
  for_each_mapping(maps, [&](const mapping& map, std::string_view) { mapped = mapped || maps_segment(map, segment); });
  return mapped ? image_state::running : image_state::replaced;
}

bool hides_memory(pid_t pid) {
  return !unique_fd(::open(fmt::format("/proc/{}/maps", pid).c_str(), O_RDONLY | O_CLOEXEC)) && errno == EACCES;
}

bool has_own_pids(const segment_file& segment) {
  static const auto ours = pid_namespace_of("self");
  const auto its = segment.header().pid_namespace;
  return its != 0 && ours != 0 && its != ours;
}

bool is_of_process(const segment_file& segment, pid_t pid) {
  const auto& header = segment.header();
  if (!has_own_pids(segment)) return header.pid == static_cast<std::uint32_t>(pid);
  return pid_namespace_of(std::to_string(pid).c_str()) == header.pid_namespace && own_pid_of(pid) == header.pid;
}

pid_t find_outside_pid(const segment_file& segment) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  while (processes) {
    const dirent* entry = ::readdir(processes.get());
    if (entry == nullptr) break;
    const std::string_view digits = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), pid).ec != std::errc{}) continue;
    if (is_of_process(segment, pid) && find_image(segment, pid) == image_state::running) return pid;
  }
  return 0;
}

std::optional<double> processor_s_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::map<std::uint32_t, std::string> thread_names_of(pid_t pid) {
  std::map<std::uint32_t, std::string> names;
  for (const pid_t tid : threads_of(pid)) {
    auto name = read_proc_file(fmt::format("/proc/{}/task/{}/comm", pid, tid), 64);
    if (!name.empty() && name.back() == '\n') name.pop_back();
    if (!name.empty()) names.emplace(static_cast<std::uint32_t>(tid), std::move(name));
  }
  return names;
}

std::set<pid_t> threads_of(pid_t pid) {
  std::set<pid_t> result;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(fmt::format("/proc/{}/task", pid).c_str()), ::closedir);
  while (threads) {
    const dirent* entry = ::readdir(threads.get());
    if (entry == nullptr) break;
    const std::string_view digits = entry->d_name;
    pid_t tid = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), tid).ec == std::errc{}) result.insert(tid);
  }
  return result;
}

pid_t thread_with_memory(pid_t pid) {
  return living_thread_of(pid).value_or(pid);
}

bool has_no_threads_left(pid_t pid) {
  return !living_thread_of(pid);
}

std::string read_memory_file(pid_t pid, const char* name, std::size_t limit) {
  auto text = read_proc_file(fmt::format("/proc/{}/{}", pid, name), limit);
  if (!text.empty()) return text;
  const auto tid = thread_with_memory(pid);
  return tid == pid ? text : read_proc_file(fmt::format("/proc/{}/{}", tid, name), limit);
}

std::string read_proc_file(const std::string& path, std::size_t limit) {
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  while (fd && text.size() < limit) {
    const std::size_t room = std::min<std::size_t>(limit - text.size(), text.empty() ? 4096 : 1 << 16);
    const auto used = text.size();
    text.resize(used + room);
    const ssize_t got = ::read(fd.get(), text.data() + used, room);
    text.resize(used + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got <= 0) break;
  }
  return text;
}

std::vector<std::string> command_of(pid_t pid) {
  constexpr std::size_t most_bytes = 1 << 16;
  const auto text = read_memory_file(pid, "cmdline", most_bytes);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  trim_title(words);
  return words;
}

void trim_title(std::vector<std::string>& command) {
  while (command.size() > 1 && command.back().empty()) command.pop_back();
  if (command.size() == 1) command[0].erase(command[0].find_last_not_of(' ') + 1);
}

}  // namespace heapledger::collect
