// The program that a command is about: named by its pid, or the only one there is.
#pragma once

#include <string>

#include "tool/collect/programs.hpp"

namespace heapledger::cli {

// Throws input_error where there is no such process, one without heapledger, or none at all, and usage_error where
// there are several to choose from.
collect::running_program which_program(const std::string& pid);  // empty: the only one

// Whether a word that may also be a file's name can only be meant as a pid.
bool names_process(const std::string& word);

// What to say of the programs under heapledger that have this name; empty: there are none.
std::string words_of_running(const std::string& name);

// For what is neither a file nor a number: throws input_error if it can only be meant as a program's name.
void refuse_name_of_program(const std::string& word);

}  // namespace heapledger::cli
