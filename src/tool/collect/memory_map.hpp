// What a running process's resident memory consists of, now and then while it runs.
//
// Reading smaps walks the process's page tables and holds a lock that its mmap and munmap want, so it is done seldom:
// at most about 0.5 % of the elapsed time goes into it (1 % while live bytes rise, 5 % when resident memory is half as
// much again, next to nothing while it stays what it is). In between the kernel's totals
// bring the parts up to date at every sample.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tool/collect/resident_parts.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/collect/totals.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

memory_map to_memory_map(const resident_parts& parts, const wire::segment_header& header, const quick_totals& totals,
                         std::int64_t time_ns);

class memory_sampler {
 public:
  enum class result { sampled, other_image, unreadable };

  // `pid` maps the segment; `now_ns` is CLOCK_MONOTONIC; `resident` and `totals` are of now.
  result sample(const segment_file& segment, pid_t pid, const resident_totals& resident, const quick_totals& totals,
                std::uint64_t now_ns);

  std::uint64_t sorting_time_ns() const { return sorting_time_ns_; }  // in all
  const std::optional<memory_map>& last() const { return last_; }
  const residency_by_site& mapped_residency() const { return residency_; }
  std::uint64_t sorted_ns() const { return sorted_ns_; }  // CLOCK_MONOTONIC; 0: never
  const std::optional<memory_map>& peak() const { return peak_; }

 private:
  bool is_sorting_due(const resident_totals& resident, const quick_totals& totals, std::uint64_t now_ns) const;
  void note_residency(const residency_by_site& now);
  bool sort(const segment_file& segment, pid_t pid, const quick_totals& totals, std::uint64_t now_ns);

  std::optional<resident_parts> sorted_;
  residency_by_site residency_;
  std::uint64_t sorted_ns_ = 0;
  std::uint64_t sorting_cost_ns_ = 0;  // of the last time
  std::uint64_t sorting_time_ns_ = 0;
  std::int64_t sorted_live_bytes_ = 0;
  std::optional<memory_map> last_;
  std::optional<memory_map> peak_;  // of the sample with the most live bytes
};

}  // namespace heapledger::collect
