// A profile of some of another's stacks, with what they need and no more: so that only these are symbolized.
#pragma once

#include <cstdint>
#include <set>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// `ids` are stack_entry::id. All of the process, its modules, strings and frames stay; nodes and locations are those of
// the stacks.
profile excerpt(const profile& p, const std::set<std::uint32_t>& ids);

}  // namespace heapledger::analyse
