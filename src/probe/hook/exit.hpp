#pragma once

namespace heapledger::probe {

// Looks up the functions behind the hooks in exit.cpp.
void start_exit();

}  // namespace heapledger::probe
