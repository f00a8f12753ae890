// Which stacks of a profile have a frame that a pattern finds: in its function, its file or its module.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::leaks {

// By index into the profile's stacks. Patterns are those of suppressions.hpp.
std::vector<bool> stacks_with(const profile& p, std::span<const std::string> patterns);

}  // namespace heapledger::leaks
