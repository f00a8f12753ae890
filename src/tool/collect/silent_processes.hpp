// Processes of a run that have no books: forked, and without an event since then, as a daemon that has only just left
// its terminal. They still map their parent's segment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace heapledger::collect {

struct silent_process {
  pid_t pid = 0;
  std::string program;  // its file's name; empty: unknown
};

// Those that run now and are not among `counted`. Looks at every process that began after this one: for once, at the
// end of a run.
std::vector<silent_process> silent_processes(const std::string& session_directory, const std::vector<pid_t>& counted);

}  // namespace heapledger::collect
