// A running process's totals, cheaply: two small reads of its open segment file, no matter how many stacks it has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tool/collect/segment_copy.hpp"

namespace heapledger::collect {

struct quick_totals {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t freed_bytes = 0;

  std::int64_t live_blocks() const { return static_cast<std::int64_t>(allocations - frees); }
  std::int64_t live_bytes() const { return static_cast<std::int64_t>(allocated_bytes - freed_bytes); }

  // The program's own stores can hit the segment: numbers beyond any program's are no sample.
  bool are_possible() const { return std::max({allocations, frees, allocated_bytes, freed_bytes}) <= most; }

 private:
  static constexpr std::uint64_t most = std::uint64_t{1} << 58;
};

// The sum of the thread records: what the cells will say, to within the event that each thread is just booking.
class totals_reader {
 public:
  // `segment` must outlive the reader.
  explicit totals_reader(const segment_file& segment) : segment_(&segment) {}
  std::optional<quick_totals> read();  // nothing when the file was cut off

 private:
  const segment_file* segment_;
  std::vector<wire::thread> threads_;
};

}  // namespace heapledger::collect
