// The size histogram in the few rows that a person reads: powers of two where most sizes are, wider steps above.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

// Without empty rows at either end. Every allocation is in exactly one row.
std::vector<size_bucket> size_rows(std::span<const size_bucket> buckets);

}  // namespace heapledger::analyse
