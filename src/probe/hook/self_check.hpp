// Self-check mode (HEAPLEDGER_CHECK): every stack is walked a second time by libgcc's unwinder, which we did not write.
// Slow; for tests. Differences are counted in the segment.
#pragma once

#include "probe/unwind/step.hpp"

namespace heapledger::probe {

void start_self_check();
// `cut`: the stack was cut by --depth, so that only its innermost frames can be compared.
HL_COLD void check_stack(const frame_state& caller, std::uint32_t node, bool cut);

}  // namespace heapledger::probe
