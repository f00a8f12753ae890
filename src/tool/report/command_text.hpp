// A program's command line as a person reads it, and as a shell would take it.
#pragma once

#include <string>
#include <vector>

namespace heapledger::report {

// The name of the executable where the words are not known, and what is given where that is not either. A program that
// writes a title over its words leaves many empty ones behind it: they are left out.
std::string command_text(const std::vector<std::string>& words, const std::string& exe,
                         const char* unknown = "(a program without a name)");

}  // namespace heapledger::report
