// The profile of a program that runs, as it is at this moment: its books, the names of its threads, and what its
// resident memory consists of. The program is not stopped, and goes on as if nobody had looked.
#pragma once

#include "tool/collect/programs.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// Without symbols. There is no timeline, which only who watches from the start has. Throws input_error.
profile profile_of(const running_program& program);

}  // namespace heapledger::collect
