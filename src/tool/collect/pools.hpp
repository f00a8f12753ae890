// The pools of a segment, as the profile tells of them: one entry for all of a name and chunk size.
#pragma once

#include <cstdint>
#include <span>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// `nodes`: of each pool site its node in the profile. Numbers that no program can reach are left out.
void add_pools(const segment_copy& segment, std::span<const std::uint32_t> nodes, profile& to);

}  // namespace heapledger::collect
