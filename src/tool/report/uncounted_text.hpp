// Programs that ran without the probe, and why.
#pragma once

#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::report {

// "tool (2 times; statically linked), /usr/bin/ping (privileged)". The most often started first.
std::string uncounted_text(std::vector<uncounted_info> programs);

}  // namespace heapledger::report
