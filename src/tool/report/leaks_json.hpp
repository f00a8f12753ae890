// `leaks --json`: one object as INTERFACE promises.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tool/profile/profile.hpp"

namespace heapledger::report {

// `entries` are those to show, of p.leaks; `suppressed` were left out.
std::string leaks_json(const profile& p, std::span<const leak_entry> entries, std::uint64_t suppressed);

}  // namespace heapledger::report
