// Whether a process is held by its control group, as `docker pause` and `systemctl freeze` do: it can be stopped by us
// then, but does not take a step.
#pragma once

#include <sys/types.h>

namespace heapledger::inject {

bool is_frozen(pid_t pid);  // false, too, where control groups (version 2) are not to be seen

}  // namespace heapledger::inject
