#pragma once

namespace heapledger::probe {

// Looks up the functions behind the hooks in exec.cpp, so that they need no lookup between vfork and exec.
void start_exec();

}  // namespace heapledger::probe
