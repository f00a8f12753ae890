// Which modules lack what a reader needs: functions' names, or lines. Most lacking first.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct symbol_gap {
  std::uint32_t module = none;
  std::uint64_t places = 0;  // different addresses in stacks
  std::uint64_t without_name = 0;
  std::uint64_t without_line = 0;
};

// Modules of which at least one place lacks its name or line.
std::vector<symbol_gap> symbol_gaps(const profile& p);

}  // namespace heapledger::analyse
