// A profile as it was at one of its snapshots, and what happened between two. The results are profiles: whatever reads
// a profile reads them (reports, exports, the comparison of two).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// The last marker of that name that has a snapshot.
std::optional<std::uint32_t> find_snapshot(const profile& p, std::string_view name);

// The books at the marker's snapshot. What was not kept is not there: threads, sizes, errors, the map of memory. The
// timeline, and the markers, end at that moment.
profile profile_at(const profile& p, std::uint32_t marker);

// The snapshot whose books these are, as profile_at() made them; null where they are of no snapshot.
const marker_info* shown_snapshot(const profile& p);

// What happened from one marker to another (nothing: up to the end of the profile). The live bytes of a stack are by
// how much they grew, below zero where they shrank; `window` is set; there is no peak.
profile profile_between(const profile& p, std::uint32_t since, std::optional<std::uint32_t> until);

}  // namespace heapledger::analyse
