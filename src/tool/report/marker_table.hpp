// The named moments of a profile, and how to compare two of them.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

// `file` as the user named it; empty: no commands are suggested.
void write_markers(page& page, const profile& p, const std::string& file);

}  // namespace heapledger::report
