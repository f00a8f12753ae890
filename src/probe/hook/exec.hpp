#pragma once

namespace heapledger::probe {

// Looks up the functions behind the hooks in exec.cpp, command.cpp, setenv.cpp and fork.cpp, so that they need no
// lookup between vfork and exec, or in a signal handler.
void start_exec();

}  // namespace heapledger::probe
