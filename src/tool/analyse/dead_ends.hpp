// Stacks that end where there are no unwind tables: in generated code, or in code of a module that has none for it.
#pragma once

#include <cstdint>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct dead_ends {
  counters count;
  std::uint32_t module = none;  // that ends most of what `count` adds up, in bytes allocated; none: generated code
};

// Nothing where callers were looked for in another way than by unwind tables alone, or where the probe cut no stack:
// what starts a process or a thread has no tables either, and a stack that ends there is whole.
dead_ends find_dead_ends(const profile& p);

}  // namespace heapledger::analyse
