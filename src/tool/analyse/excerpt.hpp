// Profiles of some of another's stacks, with what they need and no more: so that only these are symbolized, or others
// than the program's own are shown like them.
#pragma once

#include <cstdint>
#include <set>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// `ids` are stack_entry::id. All of the process, its modules, strings and frames stay; nodes and locations are those of
// the stacks.
profile excerpt(const profile& p, const std::set<std::uint32_t>& ids);

// Whatever names places in code, and nothing else.
profile without_stacks(const profile& p);

}  // namespace heapledger::analyse
