// Allocations of which the profile has no stack, since the probe found no place for it in its tables.
#pragma once

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct lost_stacks {
  counters count;                 // of what has no stack at all; a stack that was cut is not among it
  bool for_want_of_room = false;  // of the file system: the tables could have grown
};

// Nothing where the probe lost none: also then there may be allocations without a stack.
lost_stacks find_lost_stacks(const profile& p);

// Of the bytes at the peak, or of all allocations, whichever is more; from 0 to 1.
struct lost_share {
  double share = 0;
  bool is_of_peak = true;
};
lost_share share_of(const lost_stacks& lost, const profile& p);

}  // namespace heapledger::analyse
