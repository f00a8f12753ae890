// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace heapledger::cli {

// Letters to insert, delete, replace, or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Empty when nothing is near enough to be what was meant.
std::string nearest(std::string_view word, std::span<const std::string> known);

}  // namespace heapledger::cli
