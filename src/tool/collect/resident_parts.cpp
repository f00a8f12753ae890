#include "tool/collect/resident_parts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "tool/collect/mapping.hpp"
#include "tool/collect/memory_files.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t guard_limit = 64 << 10;
constexpr std::size_t asked_threads_limit = 64;

bool is_probe_file(std::string_view name) {
  return name.find("/libheapledger.so") != std::string_view::npos;
}

class sorter {
 public:
  sorter(const segment_file& segment, const std::vector<std::uint64_t>& stack_pointers, mapped_by_program* mapped)
      : segment_(segment), stack_pointers_(stack_pointers), mapped_(mapped) {}

  void add(const mapping& map, std::string_view details) {
    const auto rss = static_cast<std::int64_t>(detail_bytes(details, "Rss:"));
    parts_.rss += rss;
    const std::int64_t own = rss == 0 ? 0 : mapped_bytes(map, rss);
    parts_.mapped[static_cast<std::size_t>(kind_of(map))] += own;
    std::int64_t& part = part_of(map, details);
    part += rss - own;
    const auto anonymous = static_cast<std::int64_t>(detail_bytes(details, "Anonymous:"));
    if (&part == &parts_.files) parts_.written_file_pages += anonymous;
    if (&part == &parts_.probe_library) parts_.written_library_pages += anonymous;
    after_guard_ = !map.readable && !map.writable && map.name.empty() && map.end - map.start <= guard_limit;
    previous_end_ = map.end;
  }

  resident_parts finish() const {
    resident_parts parts = parts_;
    (has_named_memory_ ? parts.heap : parts.probe_memory) += flagged_bytes_;
    return parts;
  }

 private:
  // Of this mapping, what the program mapped itself.
  std::int64_t mapped_bytes(const mapping& map, std::int64_t rss) {
    if (mapped_ == nullptr) return 0;
    const auto& ranges = mapped_->ranges;
    const auto first = std::lower_bound(ranges.begin(), ranges.end(), map.start,
                                        [](const mapped_range& of, std::uint64_t start) { return of.end <= start; });
    std::vector<present_bytes> present;
    present_bytes all;
    for (auto range = first; range != ranges.end() && range->start < map.end; ++range) {
      const auto start = std::max(range->start, map.start), end = std::min(range->end, map.end);
      const bool is_whole = start == map.start && end == map.end;
      present.push_back(is_whole ? present_bytes{.resident = rss}
                                 : mapped_->pages->bytes_in(start, end).value_or(present_bytes{}));
      all.resident += present.back().resident;
      all.perhaps += present.back().perhaps;
    }
    const auto share = [](std::int64_t part, std::int64_t whole) {
      part = std::max<std::int64_t>(part, 0);
      return whole <= part ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    // Of a moment later: it may have grown meanwhile.
    const double of_resident = share(rss, all.resident), of_perhaps = share(rss - all.resident, all.perhaps);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < present.size(); ++i) {
      const auto bytes = static_cast<std::int64_t>(static_cast<double>(present[i].resident) * of_resident +
                                                   static_cast<double>(present[i].perhaps) * of_perhaps);
      const auto site = (first + static_cast<std::ptrdiff_t>(i))->site;
      if (site < mapped_->residency.size()) mapped_->residency[site].now += bytes;
      sum += bytes;
    }
    return sum;
  }
  static wire::mapping_kind kind_of(const mapping& map) {
    if (is_file(map)) return wire::mapping_kind::file;
    return map.is_shared || is_memory_file(map) ? wire::mapping_kind::shared : wire::mapping_kind::anonymous;
  }
  static bool is_file(const mapping& map) { return map.inode != 0 && !is_memory_file(map); }

  std::int64_t& part_of(const mapping& map, std::string_view details) {
    if (maps_segment(map, segment_)) {
      parts_.has_segment = true;
      return parts_.segment;
    }
    if (is_probe_file(map.name)) return parts_.probe_library;
    if (map.name.starts_with("[anon:heapledger")) {
      has_named_memory_ = true;
      return parts_.probe_memory;
    }
    if (map.name.starts_with("[stack")) return parts_.stacks;
    if (map.name == "[heap]") return parts_.heap;
    if (is_file(map)) return parts_.files;
    const bool is_anonymous = map.name.empty() || map.name.starts_with("[anon:");
    if (!is_anonymous || map.is_shared) return parts_.other;
    if (is_thread_stack(map, details)) return parts_.stacks;
    return map.name.empty() && has_own_flags(details) ? flagged_bytes_ : parts_.heap;
  }

  // A kernel without names for anonymous memory still tells the two flags that all of the probe's has, and that the
  // program's hardly ever has together: not reserved, and left out of core dumps.
  static bool has_own_flags(std::string_view details) {
    return has_vm_flag(details, "nr") && has_vm_flag(details, "dd");
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
  mapped_by_program* const mapped_;
  resident_parts parts_;
  std::int64_t flagged_bytes_ = 0;
  bool has_named_memory_ = false;
  bool after_guard_ = false;
  std::uint64_t previous_end_ = 0;
};

}  // namespace

resident_parts sort_mappings(std::string_view smaps, const segment_file& segment,
                             const std::vector<std::uint64_t>& stack_pointers, mapped_by_program* mapped) {
  sorter parts(segment, stack_pointers, mapped);
  for_each_mapping(smaps, [&](const mapping& map, std::string_view details) { parts.add(map, details); });
  return parts.finish();
}

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

std::vector<std::uint64_t> guarded_stacks_of(pid_t pid, std::string_view smaps) {
  constexpr std::uint64_t page_bytes = 4096, is_guard = std::uint64_t{1} << 58;
  std::vector<std::uint64_t> found;
  const unique_fd pages(::open(fmt::format("/proc/{}/pagemap", thread_with_memory(pid)).c_str(), O_RDONLY | O_CLOEXEC));
  for_each_mapping(smaps, [&](const mapping& map, std::string_view details) {
    if (!map.writable || map.is_shared || map.inode != 0 || !has_vm_flag(details, "nh")) return;
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(map.start / page_bytes * sizeof entry);
    if (::pread(pages.get(), &entry, sizeof entry, at) == sizeof entry && (entry & is_guard) != 0)
      found.push_back(map.start);
  });
  return found;
}

namespace {

std::optional<resident_totals> totals_in_status_of(pid_t tid) {
  const auto status = read_proc_file(fmt::format("/proc/{}/status", tid), 8192);
  resident_totals totals;
  totals.anonymous = static_cast<std::int64_t>(detail_bytes(status, "RssAnon:"));
  totals.file = static_cast<std::int64_t>(detail_bytes(status, "RssFile:"));
  totals.shared_memory = static_cast<std::int64_t>(detail_bytes(status, "RssShmem:"));
  totals.rss = totals.anonymous + totals.file + totals.shared_memory;
  return totals.rss == 0 ? std::nullopt : std::optional(totals);
}

}  // namespace

std::optional<resident_totals> resident_totals_of(pid_t pid) {
  if (const auto totals = totals_in_status_of(pid)) return totals;
  const auto tid = thread_with_memory(pid);
  return tid == pid ? std::nullopt : totals_in_status_of(tid);  // none: a process that is ending
}

resident_parts brought_up_to(const resident_totals& now, const resident_parts& before, std::int64_t segment_bytes,
                             const std::uint64_t (&mapped_now)[wire::mapping_kind_count]) {
  resident_parts parts = before;
  parts.rss = now.rss;
  using enum wire::mapping_kind;
  const auto mapped_now_bytes = [&](wire::mapping_kind kind) {
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(mapped_now[static_cast<std::size_t>(kind)], INT64_MAX / 2));
  };
  // To the program what it maps of a memory file system is a file.
  const auto most = [&](wire::mapping_kind kind) {
    return mapped_now_bytes(kind) + (kind == shared ? mapped_now_bytes(file) : 0);
  };
  for (const auto kind : {anonymous, file, shared}) {
    auto& bytes = parts.mapped[static_cast<std::size_t>(kind)];
    bytes = std::min(bytes, most(kind));
  }
  // On a disk instead of a memory file system, the segment's pages count as a file's.
  const bool segment_is_shared_memory = segment_bytes <= now.shared_memory;
  parts.segment = std::min(segment_bytes, segment_is_shared_memory ? now.shared_memory : now.file);
  auto& shared_bytes = parts.mapped[static_cast<std::size_t>(shared)];
  shared_bytes = std::min(shared_bytes, now.shared_memory - (segment_is_shared_memory ? parts.segment : 0));
  const auto mapped = [&](wire::mapping_kind kind) { return parts.mapped[static_cast<std::size_t>(kind)]; };
  parts.files = now.file - (segment_is_shared_memory ? 0 : parts.segment) + before.written_file_pages -
                (before.probe_library - before.written_library_pages) - mapped(file);
  parts.other = now.shared_memory - (segment_is_shared_memory ? parts.segment : 0) - mapped(shared);
  parts.heap = now.anonymous - before.written_file_pages - before.written_library_pages - before.stacks -
               before.probe_memory - mapped(anonymous);
  return parts;
}

}  // namespace heapledger::collect
