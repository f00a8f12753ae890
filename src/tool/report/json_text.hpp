// Pieces of JSON as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heapledger::report {

std::string json_string(std::string_view text);   // quoted and escaped
std::string json_seconds(std::int64_t ns);        // 1.25, without loss
std::string json_address(std::uint64_t address);  // "0x1234", quoted

inline constexpr std::size_t json_piece_bytes = 256 * 1024;  // written at once

}  // namespace heapledger::report
