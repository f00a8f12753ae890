// How far parts of a mangled C++ name reach. Not a check of the name: what is no part of one, or newer than this, has
// no end, or a wrong one, and a demangler will not read what is made of it.
#pragma once

#include <cstddef>
#include <string_view>

namespace heapledger::symbols {

inline constexpr std::size_t no_end = std::string_view::npos;

std::size_t identifier_end(std::string_view name, std::size_t at);  // at its length
std::size_t reference_end(std::string_view name, std::size_t at);   // S_, T0_: what was there before
std::size_t literal_end(std::string_view name, std::size_t at);     // Li0E
std::size_t type_end(std::string_view name, std::size_t at);

}  // namespace heapledger::symbols
