// What the program maps itself as rows of the live view: by stack and kind, beside what malloc gave (docs/mappings.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tool/live/sample.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::live {

// One for each site of the profile, in its order; `ids` are their rows'. Addresses are counted as a heap's bytes are,
// and the peak is what was resident at most; calls stand in the place of allocations.
std::vector<row> mapped_rows(const mapped_info& mapped, std::span<const std::uint32_t> ids);

// Columns of such a row.
std::string mapped_resident_text(const row& of);
std::string mapped_most_resident_text(const row& of);
std::string mapped_ranges_text(const row& of);

std::string mapped_kind_text(const row& of);      // "(file) ", in front of its place; nothing for plain memory
std::string mapped_share_text(const sample& of);  // " (1.2 MiB mapped)", behind the RSS, where it is a good part

// Keys of such a row.
std::string mapped_json(const row& of);
std::string mapped_rate_json(const row& of);

}  // namespace heapledger::live
