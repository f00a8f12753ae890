// A process that can keep no books for want of what it is allowed to have leaves word in the session's folder, so that
// whoever reads the others knows that it is missing: a symbolic link, which needs neither a descriptor nor memory.
#pragma once

#include "probe/hook/options.hpp"

namespace heapledger::probe {

void leave_word(const options& from, limit_met why);

}  // namespace heapledger::probe
