// Programs that have the kernel refuse them system calls (seccomp): browsers, daemons. A refused call may be the end of
// the program, so from then on those are not made that nothing depends on.
#pragma once

#include "probe/base/attributes.hpp"

namespace heapledger::probe {

// Set when the program says that it gets no new privileges, which who has no privileges must say before.
HL_INTERNAL extern bool calls_may_be_refused;

}  // namespace heapledger::probe
