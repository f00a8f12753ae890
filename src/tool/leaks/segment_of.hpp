// Where a running process keeps its books.
#pragma once

#include <sys/types.h>

#include <string>

namespace heapledger::leaks {

// The path of the segment that the process maps; waits for a moment where it is just being made. Throws input_error: no
// such process, or it is not under heapledger.
std::string segment_of(pid_t pid);

}  // namespace heapledger::leaks
