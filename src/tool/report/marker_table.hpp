// The named moments of a profile, and how to compare two of them.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

// `file` as the user named it; empty: no commands are suggested.
void write_markers(page& page, const profile& p, const std::string& file);

// One line below the columns of the timeline: a tick for each marker, and its name where there is room. Those that fall
// on what is there already are left out: the table has all.
std::string marker_line(const profile& p, std::size_t width, bool unicode);

}  // namespace heapledger::report
