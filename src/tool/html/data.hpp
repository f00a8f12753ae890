// What the page knows of a profile, as bytes: a JSON object of everything small, then the columns of the function tree
// and of the stacks. ui/src/data/decode.ts reads it; docs/page-format.md says what is in it.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"

namespace heapledger::html {

// Not compressed. Takes the profile, since that of a large program is not to be in memory twice.
std::string page_data(profile p);

}  // namespace heapledger::html
