#pragma once

namespace heapledger::probe {

// Looks up the function behind ours.
void start_deep_binding();

}  // namespace heapledger::probe
