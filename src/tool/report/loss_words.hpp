// Losses in words: what a counter means for the numbers above it, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heapledger::report {

// A loss that this version does not know is shown by its name.
std::string loss_text(std::string_view name, std::uint64_t count);

// "double-free", "mismatch", "overflow": what happened, and what to do.
std::string error_text(std::string_view kind, std::uint64_t count);

}  // namespace heapledger::report
