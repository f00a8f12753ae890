// Where a process's resident memory lies, by kind of mapping.
//
// The exact answer is in smaps, which costs half a microsecond a resident page. In between, the kernel's totals in
// /proc/PID/status tell nearly the same: only the heap, the files and the segment change much.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tool/collect/mapped_memory.hpp"
#include "tool/collect/segment_copy.hpp"

namespace heapledger::collect {

// The parts add up to `rss`.
struct resident_parts {
  std::int64_t rss = 0;
  std::int64_t heap = 0;  // [heap] and private anonymous memory
  std::int64_t stacks = 0;
  std::int64_t files = 0;
  std::int64_t segment = 0;
  std::int64_t probe_memory = 0;  // the probe's own anonymous memory
  std::int64_t probe_library = 0;
  std::int64_t other = 0;
  std::int64_t mapped[wire::mapping_kind_count] =
      {};  // by the program itself: private, of files, shared without a file

  std::int64_t written_file_pages = 0;     // within `files`: copies on write, which the kernel counts as anonymous
  std::int64_t written_library_pages = 0;  // within `probe_library`, likewise
  bool has_segment = false;                // the segment is mapped: this is still the program image it belongs to
};

// The kernel's totals; rss is their sum.
struct resident_totals {
  std::int64_t rss = 0;
  std::int64_t anonymous = 0;
  std::int64_t file = 0;
  std::int64_t shared_memory = 0;
};
std::optional<resident_totals> resident_totals_of(pid_t pid);

// What the program mapped itself; how much of it is resident is added to `residency`.
struct mapped_by_program {
  std::vector<mapped_range> ranges;
  resident_pages* pages;  // asked where a mapping is not all of one range
  residency_by_site residency = {};
};

// `stack_pointers`, addresses in thread stacks, tell those apart where the mapping itself does not.
resident_parts sort_mappings(std::string_view smaps, const segment_file& segment,
                             const std::vector<std::uint64_t>& stack_pointers, mapped_by_program* mapped = nullptr);

// Of threads that wait in a system call; a thread that runs has none to show.
std::vector<std::uint64_t> stack_pointers_of(pid_t pid);
// An address in each mapping that looks like stacks and begins with a guard that is no mapping of its own, as glibc
// of 2.43 installs it. A kernel before 6.15 does not tell.
std::vector<std::uint64_t> guarded_stacks_of(pid_t pid, std::string_view smaps);

// What the parts have become since they were sorted: stacks, the probe's own and what the program mapped are taken as
// they were; of the last no more than is mapped now.
resident_parts brought_up_to(const resident_totals& now, const resident_parts& before, std::int64_t segment_bytes,
                             const std::uint64_t (&mapped_now)[wire::mapping_kind_count]);

}  // namespace heapledger::collect
