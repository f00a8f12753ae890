// Which of a process's memory can hold pointers, and how each part of it is to be read: all that it has ever written
// to, whatever the protection is now, but not our own books, in which every watched block is named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/collect/segment_copy.hpp"

namespace heapledger::leaks {

struct address_range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// A stretch of one file in the program's memory.
struct view {
  address_range range;
  std::uint64_t offset = 0;
  ino_t inode = 0;
};

struct memory_parts {
  std::string obstacle;               // why this is not all of it
  std::vector<address_range> plain;   // may be read as a whole
  std::vector<address_range> sparse;  // only pages that are there: reading others would make them
  std::vector<address_range> locked;  // likewise, and the program itself may not read them now
  std::vector<address_range> apart;   // slots that a fork made private: inherited blocks are in them, and holes
  std::vector<view> watched;          // slots, as the program sees them
  std::vector<view> beside;           // the same files, where reading is no access that anybody looks for
};

// `slots`: the range of watched slots. `segment`: the program's; null where it has none.
memory_parts sort_pointer_memory(std::string_view smaps, const address_range& slots,
                                 const collect::segment_file* segment);
memory_parts pointer_memory_of(pid_t pid, const address_range& slots, const collect::segment_file* segment);

}  // namespace heapledger::leaks
