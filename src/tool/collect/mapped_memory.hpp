// The memory that the program mapped itself (mmap): which ranges there are, how much of each is resident, and whose.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/collect/unique_fd.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

struct mapped_range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t site = 0;  // index into the segment's
};

// As they are now, by address, none within another. What cannot be a range is left out. Throws nothing: an unreadable
// segment has none.
std::vector<mapped_range> read_mapped_ranges(const segment_file& segment);

// A page that is mapped elsewhere too, and is no file's, is a forked process's as well, or the one page of zeros that
// the kernel shows where nothing was written yet, which is not resident memory of anybody.
struct present_bytes {
  std::int64_t resident = 0;
  std::int64_t perhaps = 0;
};

// Which pages of a process are there. Needs the right to look at its memory.
class resident_pages {
 public:
  explicit resident_pages(pid_t pid);
  // Nothing where it cannot be known, or would take too long.
  std::optional<present_bytes> bytes_in(std::uint64_t start, std::uint64_t end);

 private:
  unique_fd pages_;
  std::uint64_t pages_left_;
};

// How much of what a site mapped is resident: when last looked at, and at most.
struct site_residency {
  std::int64_t now = 0;
  std::int64_t most = 0;
};
using residency_by_site = std::vector<site_residency>;  // index: the segment's site

// `nodes`: of each mapping site its node in the profile. Numbers that no program can reach are left out.
void add_mapped(const segment_copy& segment, std::span<const std::uint32_t> nodes, profile& to);
// And what was resident of it, in a profile to which add_mapped() was applied.
void add_mapped_residency(const segment_copy& segment, const residency_by_site& residency, std::int64_t seen_ns,
                          profile& to);

}  // namespace heapledger::collect
