#include "tool/collect/process_watch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "tool/collect/peak_time.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/segment.hpp"
#include "tool/collect/times.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t names_first_pause_ns = 10'000'000;
constexpr std::uint64_t names_longest_pause_ns = 2'000'000'000;
constexpr std::uint64_t names_cost_share = 500;
static_assert(sizeof(process_watch) <= 1024, "a shell starts thousands");

}  // namespace

process_watch::process_watch(std::string segment_path, pid_t pid, std::uint64_t serial, bool has_timeline)
    : path_(std::move(segment_path)), pid_(pid), serial_(serial), has_timeline_(has_timeline), pidfd_(open_pidfd(pid)) {
  try_open();
}

void process_watch::try_open() {
  if (segment_ || state_ != state::running || !segment_file::is_ready(path_, links::refused)) return;
  try {
    segment_ = std::make_unique<segment_file>(path_, links::refused);
  } catch (const input_error&) {
    return;  // collecting it will say what is wrong
  }
  totals_.emplace(*segment_);
  has_own_pids_ = has_own_pids(*segment_);
  if (has_own_pids_) {
    pid_ = find_outside_pid(*segment_);
    pidfd_ = pid_ == 0 ? unique_fd() : open_pidfd(pid_);
  }
  is_this_image_ = pid_ != 0 && find_image(*segment_, pid_) == image_state::running;
}

void process_watch::sample(std::uint64_t now_ns) {
  try_open();
  if (!segment_ || state_ != state::running || !is_this_image_) return;
  const auto totals = totals_->read();
  if (!totals || !totals->are_possible()) return;
  live_bytes_ = totals->live_bytes();
  const auto resident = resident_totals_of(pid_);
  const auto start_ns = segment_->header().start_monotonic_ns;
  if (!resident || now_ns < start_ns) return;
  if (has_timeline_)
    timeline_.add({.time_ns = static_cast<std::int64_t>(now_ns - start_ns),
                   .live_bytes = totals->live_bytes(),
                   .live_blocks = totals->live_blocks(),
                   .allocations = totals->allocations,
                   .rss_bytes = static_cast<std::uint64_t>(resident->rss)});
  if (memory_.sample(*segment_, pid_, *resident, *totals, now_ns) == memory_sampler::result::other_image)
    is_this_image_ = false;
  if (!has_own_pids_) sample_names(now_ns);
  if (!has_timeline_) return;
  scopes_.sample(*segment_, now_ns);
  stacks_.sample(*segment_, now_ns);
}

void process_watch::sample_names(std::uint64_t now_ns) {
  if (now_ns < names_due_ns_) return;
  const auto begin_ns = monotonic_ns();
  for (auto& [tid, name] : thread_names_of(pid_)) thread_names_[tid] = std::move(name);
  if (segment_->header().forked != 0) sample_title();
  const auto cost_ns = monotonic_ns() - begin_ns;
  names_pause_ns_ = std::clamp(names_pause_ns_ * 2, names_first_pause_ns, names_longest_pause_ns);
  names_due_ns_ = now_ns + std::max(names_pause_ns_, cost_ns * names_cost_share);
}

// Servers tell their children apart by it.
void process_watch::sample_title() {
  auto words = command_of(pid_);
  if (!words.empty() && find_image(*segment_, pid_) == image_state::running) title_ = std::move(words);
}

bool process_watch::has_no_segment() const {
  return ::access(path_.c_str(), F_OK) != 0 && errno == ENOENT;
}

void process_watch::end(state how, std::uint64_t now_ns, std::optional<int> wait_status) {
  if (state_ != state::running) return;
  try_open();
  state_ = how;
  end_ns_ = now_ns;
  wait_status_ = wait_status;
  if (segment_) resident_bytes_ = segment_->resident_bytes();
  totals_.reset();
  if (!has_no_segment()) segment_.reset();
  pidfd_.reset();
}

std::optional<segment_copy> process_watch::copy() const {
  if (segment_ && has_no_segment()) return copy_segment(*segment_);
  if (!segment_file::is_ready(path_, links::refused)) return {};
  return copy_segment(segment_file(path_, links::refused));
}

std::optional<profile> process_watch::collect() const {
  const auto copied = copy();
  if (!copied) return {};
  const segment_copy& segment = *copied;
  std::vector<std::uint32_t> stack_of;
  auto result = to_profile(segment, &stack_of);
  finish_process(result, segment.header);
  name_threads(result);
  if (!title_.empty()) result.process.command = title_;
  if (has_timeline_) {
    scopes_.add_to(result, segment.header.start_monotonic_ns);
    result.timeline = timeline_.points();
    const auto sums = result.totals();
    const auto last = timeline_.last();
    if (!last || last->time_ns < result.process.duration_ns)
      result.timeline.push_back({.time_ns = result.process.duration_ns,
                                 .live_bytes = sums.live_bytes(),
                                 .live_blocks = sums.live_blocks(),
                                 .allocations = sums.allocations,
                                 .rss_bytes = last ? last->rss_bytes : 0});
    place_peak(result, segment.header.hold_back_bytes);
    stacks_.add_to(result, stack_of, segment.header.start_monotonic_ns);
  }
  result.memory = memory_.last();
  if (memory_.sorted_ns() != 0)
    add_mapped_residency(segment, memory_.mapped_residency(), since_start(segment.header, memory_.sorted_ns()), result);
  const auto peak_bytes = result.totals().peak_bytes;
  if (memory_.peak() && memory_.peak()->live_bytes >= peak_bytes - peak_bytes / 5) result.memory_peak = memory_.peak();
  return result;
}

void process_watch::finish_process(profile& to, const wire::segment_header& header) const {
  auto& process = to.process;
  const std::uint64_t end_ns = state_ == state::running ? monotonic_ns() : end_ns_;
  const auto start_ns = header.start_monotonic_ns;
  const auto duration_ns = end_ns > start_ns ? static_cast<std::int64_t>(end_ns - start_ns) : 0;
  const bool said_when = process.ended == ending::exited && header.end_monotonic_ns != 0;
  const auto said_code = std::exchange(process.exit_code, std::nullopt);
  if (state_ == state::running) {
    set_ending(to, ending::running, process.detached ? process.duration_ns : duration_ns);
  } else if (state_ == state::replaced) {
    set_ending(to, ending::exited, duration_ns);
    process.replaced = true;
  } else if (!wait_status_) {
    set_ending(to, process.ended, said_when ? process.duration_ns : duration_ns);
    process.exit_code = said_code;
  } else if (WIFSIGNALED(*wait_status_)) {
    set_ending(to, ending::signaled, duration_ns);
    process.signal = WTERMSIG(*wait_status_);
  } else {
    set_ending(to, ending::exited, said_when ? process.duration_ns : duration_ns);
    process.exit_code = WEXITSTATUS(*wait_status_);
  }
}

void process_watch::name_threads(profile& to) const {
  // A record's own name may be what the thread was born with: its process's. What was seen later says more.
  for (auto& thread : to.threads) {
    const auto seen = thread_names_.find(thread.tid);
    const auto process = thread_names_.find(to.process.pid);
    if (seen == thread_names_.end()) continue;
    if (thread.name.empty() || !thread.end_ns || (process != thread_names_.end() && thread.name == process->second))
      thread.name = seen->second;
  }
}

std::optional<segment_name> parse_segment_name(std::string_view file_name) {
  const char* const end = file_name.data() + file_name.size();
  segment_name name{};
  const auto pid = std::from_chars(file_name.data(), end, name.pid);
  if (pid.ec != std::errc{} || name.pid <= 0 || pid.ptr == end || *pid.ptr != '-') return {};
  const auto serial = std::from_chars(pid.ptr + 1, end, name.serial);
  if (serial.ec != std::errc{} || std::string_view(serial.ptr, end) != ".hls") return {};
  return name;
}

}  // namespace heapledger::collect
