// Reading debug information takes more stack than a small limit (ulimit -s) gives, which is the program's business and
// stays as it is.
#pragma once

#include <functional>

namespace heapledger::cli {

// Does the work with 8 MiB of stack at least, for its threads too: on a thread of its own if need be, which signals
// reach as they would this one.
int with_enough_stack(const std::function<int()>& work);

}  // namespace heapledger::cli
