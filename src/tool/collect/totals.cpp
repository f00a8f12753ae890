#include "tool/collect/totals.hpp"

#include <algorithm>
#include <cstddef>

namespace heapledger::collect {

std::optional<quick_totals> totals_reader::read() {
  std::uint32_t thread_count = 0;
  if (!segment_->read_at(offsetof(wire::segment_header, thread_count), &thread_count, sizeof thread_count)) return {};
  const auto& region = segment_->header().threads;  // its place was checked when the segment was opened
  const auto count =
      std::min<std::uint64_t>({thread_count, region.capacity, segment_read_limit / sizeof(wire::thread)});
  threads_.resize(count);
  if (!segment_->read_at(region.offset, threads_.data(), count * sizeof(wire::thread))) return {};
  quick_totals sums;
  for (const auto& thread : threads_) {
    sums.allocations += thread.allocations;
    sums.frees += thread.frees;
    sums.allocated_bytes += thread.allocated_bytes;
    sums.freed_bytes += thread.freed_bytes;
  }
  return sums;
}

}  // namespace heapledger::collect
