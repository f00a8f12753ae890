// The stacks of a segment as the stack tree of a profile: only nodes that a kept account uses, each place in code once.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// `accounts` are the indices of those to keep. Fills modules (all of them: the symbolizer looks places up), locations
// and nodes of `to`, and returns each kept account's node there. A node whose parent is not there yet hangs from the
// root.
std::vector<std::uint32_t> build_stack_tree(const segment_copy& segment, const std::vector<std::uint32_t>& accounts,
                                            profile& to);

}  // namespace heapledger::collect
