// Losses in words: what a counter means for the numbers above it, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::report {

// A loss that this version does not know is shown by its name. Advice is about the limits of the tables.
std::string loss_text(std::string_view name, std::uint64_t count, bool with_advice = true);
// Of a whole profile, by the way in which its stacks were walked; and what it started that is not counted. A file
// system without room comes first: most of the others come from that.
std::vector<std::string> loss_texts(const profile& p);

// "54 % of the bytes at the peak have no stack, because ...", where that is so of at least such a share of them or of
// the allocations; else empty.
std::string lost_stacks_text(const profile& p, double least_share);

// "double-free", "mismatch", "overflow": what happened, and what to do. The last two are a mismatch's (see
// error_entry).
std::string error_text(std::string_view kind, std::uint64_t count, std::string_view allocated_by = {},
                       std::string_view freed_by = {});

}  // namespace heapledger::report
