// Heights as one row of characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace heapledger::report {

// A character each, blank where nothing is; `highest`, which is above zero, fills one.
std::string bars(std::span<const std::int64_t> heights, std::int64_t highest, bool unicode);

}  // namespace heapledger::report
