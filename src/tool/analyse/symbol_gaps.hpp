// What a reader cannot know for want of symbols. Which modules lack what a reader needs: functions' names, or the lines
// of half their places and more. Lines of the C and C++ libraries themselves are nobody's need. Most lacking first.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/analyse/groups.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct symbol_gap {
  std::uint32_t module = none;
  std::uint64_t places = 0;  // different addresses in stacks
  std::uint64_t without_name = 0;
  std::uint64_t without_line = 0;
};

std::vector<symbol_gap> symbol_gaps(const profile& p);

// Bytes at the peak whose place is a function without a name, outside of the C and C++ libraries.
struct nameless_bytes {
  std::int64_t bytes = 0;
  std::uint32_t module = none;  // that has most of them
};
nameless_bytes nameless_at_peak(const profile& p, const std::vector<site>& sites);

}  // namespace heapledger::analyse
