// The part of a page's data that is JSON: what the text report has words for, and the report itself.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"

namespace heapledger::html {

// What its places held over time is told of another profile where that of this one is not known.
std::string words(const profile& p, const profile& over_time);

// The JSON report with one stack for each scope: its totals and everything else stay what they are. Empties the
// profile's stacks.
std::string small_report(profile& p);

}  // namespace heapledger::html
