// Where what leaks is allocated.
#pragma once

#include <cstdint>
#include <optional>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// The node of the stack tree; nothing where the profile does not have the stack.
std::optional<std::uint32_t> place_of(const profile& p, const leak_entry& leak);

}  // namespace heapledger::analyse
