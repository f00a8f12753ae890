// The marks and snapshots of a segment, and of the file beside it, as part of the profile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// `stack_ids`: the id of the stack that each account became a part of; `to.stacks` are there already. What is damaged
// is left out: a mark with impossible numbers, the books of a snapshot that cannot be read. The changes of all
// snapshots together take at most `room_bytes` (without: what leaves a reader room for the rest); the first one that
// has no room and all after it are kept as marks, and counted as the probe counts its own, as `snapshots_full`.
void add_markers(const segment_copy& segment, const std::vector<std::uint32_t>& stack_ids, profile& to,
                 std::optional<std::uint64_t> room_bytes = {});

}  // namespace heapledger::collect
