// How often a suspect stack's next allocations are watched. A coin that is thrown for each of them, not the first so
// many: the sample stands for all. The coin may change over time, as each watched block remembers its own chance.
#pragma once

#include <cstdint>

namespace heapledger::leaks {

struct sampling_need {
  double allocations_per_s = 0;
  double staying_share = 0;  // of allocations: those that the counters say stay
  double in_flight = 0;      // blocks that live for a while and go
  double horizon_s = 0;      // for so long the free places have to last; half of them
  double free_places = 0;
  double most_per_s = 500;  // watched blocks taken a second
};

// The chance, from 0 to 1.
double sampling_chance(const sampling_need& need);

}  // namespace heapledger::leaks
