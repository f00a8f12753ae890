// The payload of a profile file: the protobuf message heapledger.Profile (heapledger.proto).
//
// check() says what makes a profile inconsistent; nothing inconsistent is written, nothing inconsistent is read.
#pragma once

#include <string>
#include <string_view>

#include "tool/profile/profile.hpp"

namespace heapledger::format {

// Throw damage (container.hpp).
std::string encode(const profile& profile);
profile decode(std::string_view payload);
void check(const profile& profile);

}  // namespace heapledger::format
