// The second witness: whether anything in the process still points to a block that nobody touches.
//
// The program stands still only while the registers of its threads are read. All its memory is then read while it runs,
// twice (pointer_memory.hpp says what that is); a block counts as unreachable if no word found either time, and no
// register, points into it. A pointer that moves while memory is read could be missed once; one that moves is not to a
// block that nobody touches, and twice is unlikely. A word that merely looks like a pointer, or lies in freed memory,
// makes a block reachable: the error is on the side of the program. Chains that only lead from one lost block to
// another keep the inner ones reachable, for the same reason.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tool/leaks/pointer_memory.hpp"
#include "tool/leaks/watcher.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::leaks {

// Which of the blocks (sorted, apart from each other) a word of these points into is marked.
void mark_targets(std::span<const std::uint64_t> words, std::span<const address_range> blocks,
                  std::vector<bool>& marked);

struct witness_result {
  reachability_info info;
  std::vector<bool> unreachable;  // by block
};

// `slots` is the range of watched slots, and `records` what is in them: that is read through the program's second
// mapping of the same memory, where reading is no access that the watch would see. What is in `segment` points to
// nothing.
witness_result find_unreachable(pid_t pid, std::span<const watcher::stale_block> blocks, const address_range& slots,
                                std::span<const collect::watched_slot> records = {},
                                const collect::segment_file* segment = nullptr);

// Of what the watcher found to leak. False: there was no answer; there may be one later.
bool ask_witness(watcher& watch);

}  // namespace heapledger::leaks
