// The side table of large blocks, keyed by address. Off the fast path: an allocation of 64 KiB costs more than this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/account/tag.hpp"

namespace heapledger::probe {

struct large_block {
  std::uint64_t address;  // 0: a free slot
  std::uint64_t bytes;    // requested
  std::uint32_t account;
  std::uint32_t birth;  // serial of the process that booked it: after fork, the parent's differ
  block_kind kind;
  std::uint64_t born_ns;  // where lives are timed
};

// False when there is no room; the block is then not known, and counted as a loss.
bool add_large(const large_block& block);

// False if it is not there.
bool find_large(const void* address, large_block& out);
// Takes the block out of the table; false if it is not there.
bool take_large(const void* address, large_block& out);

// After fork: locks may be held by threads that are not here; the entries stay, and are of another birth.
void begin_large_blocks(std::uint32_t birth);

}  // namespace heapledger::probe
