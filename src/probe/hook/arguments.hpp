#pragma once

namespace heapledger::probe {

// Writes the program's arguments into the segment. `ran_already`: it may have put something else where they were, and
// the kernel is asked for them.
void publish_arguments(bool ran_already);

}  // namespace heapledger::probe
