// Losses in words: what a counter means for the numbers above it, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::report {

// A loss that this version does not know is shown by its name.
std::string loss_text(std::string_view name, std::uint64_t count);
// Of a whole profile, by the way in which its stacks were walked; and what it started that is not counted.
std::vector<std::string> loss_texts(const profile& p);

// "double-free", "mismatch", "overflow": what happened, and what to do.
std::string error_text(std::string_view kind, std::uint64_t count);

}  // namespace heapledger::report
