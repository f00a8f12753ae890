// What a running process's resident memory consists of: its mappings, sorted into the parts of `memory_map`.
//
// Reading smaps walks the process's page tables and holds a lock that its mmap and munmap want, so it is done seldom:
// at most about 0.5 % of the elapsed time goes into it (1 % while live bytes rise).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/collect/totals.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// Resident bytes by kind of mapping; they add up to `rss`.
struct resident_parts {
  std::int64_t rss = 0;
  std::int64_t heap = 0;  // [heap] and private anonymous memory
  std::int64_t stacks = 0;
  std::int64_t files = 0;
  std::int64_t profiler = 0;
  std::int64_t other = 0;
  bool has_named_memory = false;  // the kernel names the probe's own anonymous memory
  bool has_segment = false;       // the segment itself is mapped: this is still the program image it belongs to
};

// `stack_pointers` tells thread stacks apart where the mapping itself does not.
resident_parts sort_mappings(std::string_view smaps, const segment_file& segment,
                             const std::vector<std::uint64_t>& stack_pointers);

memory_map to_memory_map(const resident_parts& parts, const wire::segment_header& header, const quick_totals& totals,
                         std::int64_t time_ns);

class memory_sampler {
 public:
  enum class result { not_due, sampled, other_image, unreadable };

  // Samples when it is due. `now_ns` is CLOCK_MONOTONIC.
  result sample(const segment_file& segment, const quick_totals& totals, std::uint64_t now_ns);

  const std::optional<memory_map>& last() const { return last_; }
  const std::optional<memory_map>& peak() const { return peak_; }

 private:
  bool is_due(const quick_totals& totals, std::uint64_t now_ns) const;

  std::optional<memory_map> last_;
  std::optional<memory_map> peak_;  // of the sample with the most live bytes
  std::uint64_t last_ns_ = 0;
  std::uint64_t cost_ns_ = 0;  // of the last sample
};

}  // namespace heapledger::collect
