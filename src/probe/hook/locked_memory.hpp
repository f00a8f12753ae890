#pragma once

namespace heapledger::probe {

// Looks up the function behind ours.
void start_locked_memory();

}  // namespace heapledger::probe
