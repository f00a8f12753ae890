#pragma once

namespace heapledger::probe {

// Looks up the function behind ours.
void start_sandbox();

}  // namespace heapledger::probe
