// Deadlines that nobody has to guess: from what a stack's own blocks did. A time that was asked for is kept as the
// least: blocks that are touched again after longer pauses have longer ones.
#pragma once

#include "tool/leaks/block.hpp"
#include "tool/leaks/options.hpp"
#include "tool/leaks/survival.hpp"

namespace heapledger::leaks {

// `lifetimes`: of watched blocks, the living as unfinished. `gaps`: from an arming to the access that followed.
deadlines deadlines_for(const hunt_options& options, const survival& lifetimes, const survival& gaps);

}  // namespace heapledger::leaks
