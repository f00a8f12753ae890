// How long each block lives, for who asked for it (HEAPLEDGER_LIFETIMES). Then no event takes the fastest path, and a
// small block has 16 bytes of ours: before the tag, in its slack, stands the time of birth; a large one has it in the
// side table.
//
// A realloc ends one life and begins another, and so does a move to another scope: each is a free and an allocation to
// the books. Blocks that a forked child inherited are not timed.
#pragma once

#include "probe/account/birth_word.hpp"
#include "probe/account/large_blocks.hpp"
#include "probe/hook/block.hpp"

namespace heapledger::probe {

// At start, and in a forked child once its segment is there.
void choose_lifetimes(bool on);
void reset_lifetimes();

// Since the segment's start; by the vDSO, which takes no system call, and which nobody can interpose.
std::uint64_t life_clock_ns();

// Counts the birth of a block; returns its time, to be noted with it: by note_birth, or in the side table.
std::uint64_t begin_life(std::uint32_t account);
void note_birth(void* block, std::size_t usable, std::uint64_t born_ns);

// Books the life of a block that is freed, of so many bytes. A small block's overwritten time is an overflow, and
// counted as not known.
void end_life(books& own, std::uint32_t account, void* block, std::size_t usable, std::size_t bytes);
void end_large_life(books& own, const large_block& block);
// The block's end cannot be timed.
void lose_life(books& own);
// The block that was freed last was not: its realloc failed.
void take_back_life(books& own, std::uint32_t account, std::size_t bytes);

}  // namespace heapledger::probe
