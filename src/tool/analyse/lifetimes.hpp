// What is said of how long blocks lived.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// Of the blocks that were freed; nothing where there are none.
std::optional<std::int64_t> mean_life_ns(const lives& of);
// Of those that were not, at the end of the profile.
std::optional<std::int64_t> mean_age_ns(const lives& of, std::int64_t end_ns);
// Of all: what those that were not freed lived until then counts.
double all_lived_ns(const lives& of, std::int64_t end_ns);

// The histogram in decades of time, the first of them up to a microsecond; without empty rows at either end.
std::vector<lifetime_bucket> lifetime_rows(std::span<const lifetime_bucket> buckets);

}  // namespace heapledger::analyse
