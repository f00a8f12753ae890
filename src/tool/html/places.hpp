// What the places that held most held over time: lines of the page's chart.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"

namespace heapledger::html {

// JSON, docs/page-format.md.
std::string places_over_time(const profile& p);

}  // namespace heapledger::html
