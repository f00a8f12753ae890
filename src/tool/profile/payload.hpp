// The payload of a profile file: the protobuf message heapledger.Profile (heapledger.proto).
//
// check() says what makes a profile inconsistent; nothing inconsistent is written, nothing inconsistent is read. The
// same holds for what takes more memory than a reader has.
#pragma once

#include <string>
#include <string_view>

#include "tool/profile/container.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::format {

// Throw damage (container.hpp).
std::string encode(const profile& profile, std::uint64_t memory_limit = max_memory_bytes);
profile decode(std::string_view payload, std::uint64_t memory_limit = max_memory_bytes);
void check(const profile& profile);

std::uint64_t memory_bytes(const profile& profile);  // that decode() takes from the limit

}  // namespace heapledger::format
