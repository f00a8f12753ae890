// How many columns of a terminal a character takes: none where it joins the one before, two where it is as wide as
// high.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::report {

std::size_t code_width(std::uint32_t code_point);

}  // namespace heapledger::report
