// Reading a profile file (docs/profile-format.md). A file may be cut off, foreign, damaged, or made to harm: each
// ends in an input_error of one line, and no file makes the reader take more than a bounded amount of memory.
// What is returned is consistent: every index is in range, every parent stands before its child, and the counters of
// all stacks add up without overflow.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tool/profile/profile.hpp"

namespace heapledger {

profile read_profile(const std::string& path);

// `name` stands for the file in error messages.
profile read_profile(std::span<const std::byte> file, std::string_view name = "the profile");

// Whether a file that begins with these bytes is a profile, of any version. Eight bytes are enough.
bool looks_like_profile(std::span<const std::byte> first_bytes);

}  // namespace heapledger
