// The program that a command is about: named by its pid, or the only one there is.
#pragma once

#include <string>

#include "tool/collect/programs.hpp"

namespace heapledger::cli {

// Throws usage_error with what to type: no such process, one without heapledger, none at all, or several to choose
// from.
collect::running_program which_program(const std::string& pid);  // empty: the only one

}  // namespace heapledger::cli
