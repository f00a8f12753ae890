// Self-check mode (HEAPLEDGER_CHECK): every stack is walked a second time by libgcc's unwinder, which we did not write.
// Slow; for tests. Differences are counted in the segment.
#pragma once

#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {

void start_self_check();
// `node`: that of the account which the stack was booked to.
HL_COLD void check_stack(const frame_state& caller, std::uint32_t node, const stack_walk& stack);
void stack_differs(const frame_state& caller, std::uint32_t node);

}  // namespace heapledger::probe
