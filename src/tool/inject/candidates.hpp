// Which threads of a process to try, the best first: one that waits for an event is disturbed least, and is at a safe
// point more likely than one that runs.
#pragma once

#include <sys/types.h>

#include <vector>

namespace heapledger::inject {

struct candidates {
  std::vector<pid_t> tids;
  bool has_ended = false;  // the process
};

// `all`: also threads whose wait would begin anew with its whole time. Never those that do not stop, or whose
// call would return with a part of its work.
candidates candidates_of(pid_t pid, bool all);

std::vector<pid_t> threads_of(pid_t pid);

// A thread that has ended may not be seized; the first of a process stays to be seen until the others have ended.
bool has_ended(pid_t pid, pid_t tid);

// A process on its way to that has no memory any more, before it says that it has ended.
bool is_ending(pid_t pid);

// Whether nothing of the process runs any more, or soon. One whose first thread alone has ended goes on in the others.
bool is_over(pid_t pid);

}  // namespace heapledger::inject
