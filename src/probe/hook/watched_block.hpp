// The booking of blocks that are in a slot of the leak watch, or may get one.
//
// To the books such a block is a large one: it is in the side table, whatever its size. At the end of its usable space
// stands a tag, as in any small block, for what overflows.
#pragma once

#include "probe/account/large_blocks.hpp"
#include "probe/hook/event.hpp"
#include "probe/watch/watch.hpp"

namespace heapledger::probe {

struct suspect_block {
  std::uint32_t account;
  std::size_t bytes;
  std::size_t usable;
  block_kind kind;
  bool reallocated;
};

// Offers a fresh block of a suspect account to the watch, and books it, wherever it is then. Returns it.
HL_COLD void* book_suspect(books& own, void* block, const suspect_block& what);

// Books the free of a watched block, and empties its slot. Always false: nothing is left for the next allocator.
HL_COLD bool release_watched(books& own, void* block, block_kind by);
// The same where nothing can be booked.
HL_COLD bool drop_watched(void* block);

// For realloc: books the free, and leaves the block where it is. Whether it was one of this process's; `out` is what to
// put back where the realloc fails.
HL_COLD bool withdraw_watched(books& own, void* block, block_kind by, large_block& out);
// A copy of its first bytes from the next allocator; the slot is emptied. nullptr: as it was.
HL_COLD void* move_out_of_slot(void* block, std::size_t bytes);

HL_COLD void count_inherited(std::size_t bytes);

}  // namespace heapledger::probe
