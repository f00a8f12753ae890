// Symbolizes the profiles of one run at once. Its processes share programs and libraries: the debug information of each
// is read once, not once a process.
#pragma once

#include <span>

#include "tool/profile/profile.hpp"
#include "tool/symbolize/symbolize.hpp"

namespace heapledger::cli {

void symbolize_together(std::span<profile> profiles, const symbolize_options& options);

}  // namespace heapledger::cli
