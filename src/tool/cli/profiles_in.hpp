// What `report` names to a user who named nothing.
#pragma once

#include <optional>
#include <string>

namespace heapledger::cli {

// The name of the .hlp file in a folder that was written last; none where there is none, or the folder cannot be read.
std::optional<std::string> newest_profile(const std::string& folder);

}  // namespace heapledger::cli
