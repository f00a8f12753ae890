// What a user who named no profile, or a folder of them, is told that there is.
#pragma once

#include <string>
#include <vector>

namespace heapledger::cli {

// The names of the profiles (.hlp) and segments in a folder, the one that was written last first; none where it cannot
// be read.
std::vector<std::string> profiles_in(const std::string& folder);

// Throws input_error where a path that is to be a profile is a folder, a program, or nothing beside profiles: says
// which profiles there are, or how a program is named. What else is wrong with it, who reads it finds.
void refuse_path_of_no_profile(const std::string& path);

}  // namespace heapledger::cli
