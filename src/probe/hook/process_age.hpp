#pragma once

#include <cstdint>

namespace heapledger::probe {

// How long ago the kernel made this process, to a hundredth of a second; never 0.
std::uint64_t process_age_ns();

}  // namespace heapledger::probe
