// Errors as far as they are the program's. Some libraries have operator new and delete of their own, bound within
// themselves (-static-libstdc++ with -Bsymbolic): there new is seen as malloc, and delete as free. Memory that goes
// from such a library to another, or the other way, looks mismatched and is not.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct judged_error {
  error_entry error;
  std::uint32_t doubt = none;  // the module for whose operators a mismatch may be none
};

// All errors but the mismatches of blocks that came from such an operator new; the others are in doubt where the
// program has such operators at all.
std::vector<judged_error> judged_errors(const profile& p);

}  // namespace heapledger::analyse
