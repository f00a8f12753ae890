// Which thread allocated what a stack counts, as far as the segment knows it. Events are booked by writers, each in
// cells of its own; a writer that has served one thread only speaks for it. Cells that several writers were folded
// into, and writers that served one thread after another, do not.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// `stack_of`: by account, an index into the profile's stacks, or none; `thread_of`: by thread record, an index into its
// threads, or none. Sets stack_entry::thread and thread_shares.
void add_thread_shares(const segment_copy& segment, const std::vector<std::uint32_t>& stack_of,
                       const std::vector<std::uint32_t>& thread_of, profile& to);

}  // namespace heapledger::collect
