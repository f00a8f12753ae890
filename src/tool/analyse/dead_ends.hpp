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

// Stacks of fibers of Boost.Context (Fiber, Coroutine, Asio's spawn): make_fcontext, where each begins, has no tables
// either. They are whole, though the probe counts them among those that it cut.
std::uint64_t count_fiber_stacks(const profile& p);

}  // namespace heapledger::analyse
