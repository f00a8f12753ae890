#include "tool/collect/memory_map.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/segment.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t smaps_limit = std::size_t{256} << 20;
constexpr std::uint64_t guard_limit = 64 << 10;
constexpr std::uint64_t usual_cost_share = 200;  // 1/200 of the time
constexpr std::uint64_t rising_cost_share = 100;
constexpr std::size_t asked_threads_limit = 64;

bool is_probe_file(std::string_view name) {
  return name.find("/libheapledger.so") != std::string_view::npos;
}

class sorter {
 public:
  sorter(const segment_file& segment, const std::vector<std::uint64_t>& stack_pointers)
      : segment_(segment), stack_pointers_(stack_pointers) {}

  void add(const mapping& map, std::string_view details) {
    const auto rss = static_cast<std::int64_t>(detail_bytes(details, "Rss:"));
    parts_.rss += rss;
    part_of(map, details) += rss;
    after_guard_ = !map.readable && !map.writable && map.name.empty() && map.end - map.start <= guard_limit;
    previous_end_ = map.end;
  }

  resident_parts finish() const { return parts_; }

 private:
  std::int64_t& part_of(const mapping& map, std::string_view details) {
    if (maps_segment(map, segment_)) {
      parts_.has_segment = true;
      return parts_.profiler;
    }
    if (is_probe_file(map.name)) return parts_.profiler;
    if (map.name.starts_with("[anon:heapledger")) {
      parts_.has_named_memory = true;
      return parts_.profiler;
    }
    if (map.name.starts_with("[stack")) return parts_.stacks;
    if (map.name == "[heap]") return parts_.heap;
    if (map.inode != 0 && !map.name.starts_with("/dev/zero") && !map.name.starts_with("/SYSV")) return parts_.files;
    const bool is_anonymous = map.name.empty() || map.name.starts_with("[anon:");
    if (!is_anonymous || map.is_shared) return parts_.other;
    return is_thread_stack(map, details) ? parts_.stacks : parts_.heap;
  }

  // A thread's stack lies above a guard, and is exempt from huge pages since Linux 6.7.
  bool is_thread_stack(const mapping& map, std::string_view details) const {
    if (!map.writable) return false;
    if (after_guard_ && previous_end_ == map.start && has_vm_flag(details, "nh")) return true;
    return std::any_of(stack_pointers_.begin(), stack_pointers_.end(),
                       [&](std::uint64_t pointer) { return pointer >= map.start && pointer < map.end; });
  }

  const segment_file& segment_;
  const std::vector<std::uint64_t>& stack_pointers_;
  resident_parts parts_;
  bool after_guard_ = false;
  std::uint64_t previous_end_ = 0;
};

// Of threads that wait in a system call; a thread that runs has none to show.
std::vector<std::uint64_t> stack_pointers_of(pid_t pid) {
  std::vector<std::uint64_t> pointers;
  const auto directory = fmt::format("/proc/{}/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(directory.c_str()), ::closedir);
  for (std::size_t asked = 0; threads && asked < asked_threads_limit; ++asked) {
    const dirent* entry = ::readdir(threads.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] == '.') continue;
    // NUMBER six arguments, stack pointer, program counter
    auto text = read_proc_file(fmt::format("{}/{}/syscall", directory, entry->d_name), 512);
    const auto last = text.rfind(" 0x");
    const auto before = last == std::string::npos || last == 0 ? last : text.rfind(" 0x", last - 1);
    if (before == std::string::npos) continue;
    std::uint64_t pointer = 0;
    if (std::from_chars(text.data() + before + 3, text.data() + last, pointer, 16).ec == std::errc{})
      pointers.push_back(pointer);
  }
  return pointers;
}

}  // namespace

resident_parts sort_mappings(std::string_view smaps, const segment_file& segment,
                             const std::vector<std::uint64_t>& stack_pointers) {
  sorter parts(segment, stack_pointers);
  for_each_mapping(smaps, [&](const mapping& map, std::string_view details) { parts.add(map, details); });
  return parts.finish();
}

memory_map to_memory_map(const resident_parts& parts, const wire::segment_header& header, const quick_totals& totals,
                         std::int64_t time_ns) {
  const auto unnamed = parts.has_named_memory
                           ? std::int64_t{0}
                           : static_cast<std::int64_t>(std::min<std::uint64_t>(
                                 header.private_bytes, static_cast<std::uint64_t>(parts.heap)));
  memory_map map;
  map.time_ns = time_ns;
  map.rss_bytes = parts.rss;
  map.live_bytes = totals.live_bytes();
  map.tag_bytes = static_cast<std::int64_t>(tag_bytes_of(header, totals.live_blocks()));
  map.profiler_bytes = parts.profiler + unnamed;
  map.allocator_bytes = parts.heap - unnamed - map.live_bytes - map.tag_bytes;
  map.file_bytes = parts.files;
  map.stack_bytes = parts.stacks;
  map.other_bytes = parts.other;
  return map;
}

bool memory_sampler::is_due(const quick_totals& totals, std::uint64_t now_ns) const {
  if (!last_) return true;
  const bool rises = totals.live_bytes() > last_->live_bytes + last_->live_bytes / 4;
  return now_ns - last_ns_ >= cost_ns_ * (rises ? rising_cost_share : usual_cost_share);
}

memory_sampler::result memory_sampler::sample(const segment_file& segment, const quick_totals& totals,
                                              std::uint64_t now_ns) {
  if (!is_due(totals, now_ns)) return result::not_due;
  const auto pid = static_cast<pid_t>(segment.header().pid);
  const std::uint64_t begin_ns = monotonic_ns();
  const auto smaps = read_proc_file(fmt::format("/proc/{}/smaps", pid), smaps_limit);
  wire::segment_header header{};
  if (smaps.empty() || !segment.read_at(0, &header, sizeof header)) return result::unreadable;
  const auto parts = sort_mappings(smaps, segment, stack_pointers_of(pid));
  cost_ns_ = monotonic_ns() - begin_ns;
  last_ns_ = now_ns;
  if (!parts.has_segment) return result::other_image;

  const auto start_ns = segment.header().start_monotonic_ns;
  last_ = to_memory_map(parts, header, totals, static_cast<std::int64_t>(now_ns - std::min(now_ns, start_ns)));
  if (!peak_ || last_->live_bytes >= peak_->live_bytes) peak_ = last_;
  return result::sampled;
}

}  // namespace heapledger::collect
