#include "tool/inject/candidates.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tool/collect/process.hpp"
#include "tool/inject/interrupted_call.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t most_tries = 100;  // in one round
constexpr std::size_t most_threads = 100'000;

char state_of(pid_t pid, pid_t tid) {
  const auto stat = collect::read_proc_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), 4096);
  const auto name_end = stat.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? 'X' : stat[name_end + 2];
}

}  // namespace

bool has_ended(pid_t pid, pid_t tid) {
  return std::string_view("ZXx").find(state_of(pid, tid)) != std::string_view::npos;
}

// "4711 (name) S PPID GROUP SESSION TERMINAL ITS_GROUP FLAGS ..."
bool is_ending(pid_t pid) {
  constexpr unsigned long exiting = 4;  // the kernel's PF_EXITING
  const auto stat = collect::read_proc_file(fmt::format("/proc/{}/stat", pid), 4096);
  auto at = stat.rfind(") ");
  for (int field = 0; field < 7 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  return at != std::string::npos && (std::strtoul(stat.c_str() + at, nullptr, 10) & exiting) != 0;
}

bool is_over(pid_t pid) {
  return collect::has_no_threads_left(pid) || (!has_ended(pid, pid) && is_ending(pid));
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir(fmt::format("/proc/{}/task", pid).c_str()), ::closedir);
  while (tasks && tids.size() < most_threads) {
    const dirent* entry = ::readdir(tasks.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    pid_t tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc{}) tids.push_back(tid);
  }
  return tids;
}

candidates candidates_of(pid_t pid, bool all) {
  enum rank { waits, runs, waits_longer };
  std::vector<std::pair<rank, pid_t>> ranked;
  candidates result;
  result.has_ended = true;
  for (const auto tid : threads_of(pid)) {
    const char state = state_of(pid, tid);
    if (std::string_view("ZXx").find(state) != std::string_view::npos) continue;
    result.has_ended = false;
    if (state == 'D') continue;
    const auto call = collect::read_proc_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid), 512);
    if (would_be_cut_short(call)) continue;
    const bool is_longer = would_wait_longer(call);
    if (is_longer && !all) continue;
    ranked.emplace_back(is_longer ? waits_longer : is_waiting(call) ? waits : runs, tid);
  }
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = 0; i < ranked.size() && i < most_tries; ++i) result.tids.push_back(ranked[i].second);
  return result;
}

}  // namespace heapledger::inject
