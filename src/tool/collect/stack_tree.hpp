// The stacks of a segment as the stack tree of a profile: only nodes that are asked for and what lies outside them,
// each place in code once.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// `innermost` are nodes of the segment, in any order and as often as they like. Fills modules (all of them: the
// symbolizer looks places up), locations and nodes of `to`, and returns the node there of each. A node whose parent is
// not there yet hangs from the root.
std::vector<std::uint32_t> build_stack_tree(const segment_copy& segment, std::vector<std::uint32_t> innermost,
                                            profile& to);

}  // namespace heapledger::collect
