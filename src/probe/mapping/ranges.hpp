// The ranges of addresses that the program mapped itself and that are mapped now: a tree by address in the segment,
// where a reader finds each range with the stack that mapped it.
//
// Each function takes a lock and blocks signals meanwhile; usable in signal handlers. Ranges are whole pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/segment.hpp"

namespace heapledger::probe {

// [start, end) is mapped by `site` from now on, whatever was there before. Site 0: by nobody whom the books know.
void put_range(std::uint64_t start, std::uint64_t end, std::uint32_t site);

// What was taken out while the kernel is asked to unmap it. Before, not after: as soon as the kernel has done it,
// another thread may be given these addresses.
struct taken_ranges {
  std::uint32_t first = 0;  // 0: none
  std::uint32_t books = 0;  // of whose books they are
};
taken_ranges take_ranges(std::uint64_t start, std::uint64_t end);
wire::mapping_kind kind_of(taken_ranges ranges);    // of one of them
wire::mapping_kind kind_at(std::uint64_t address);  // anonymous where nothing that the books know is mapped
// And what becomes of it: the kernel has refused, or not.
void put_back(taken_ranges ranges);
void give_up(taken_ranges ranges);

// With a new segment: what was mapped before is not in its books.
void forget_ranges();

}  // namespace heapledger::probe
