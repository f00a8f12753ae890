// Writing a profile file (docs/profile-format.md). The file appears under its name complete or not at all: it is
// written beside it under a temporary name, which is removed when anything fails. Throws input_error.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"

namespace heapledger {

// The whole file. `name` stands for it in what is thrown.
std::string profile_bytes(const profile& profile, const std::string& name);

// Without `overwrite` an existing file is never replaced, even if it appears while this one is being written.
// A device or pipe (/dev/stdout) is written to, never replaced.
void write_profile(const profile& profile, const std::string& path, bool overwrite);

}  // namespace heapledger
