// What stacks can be ordered by, and the order itself. Equal values are ordered by id, so that a report is repeatable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

enum class measure { live, peak, allocated, count, temporary };

inline constexpr std::string_view measure_names[] = {"live", "peak", "allocated", "count", "temporary"};

std::optional<measure> parse_measure(std::string_view name);
std::int64_t value_of(const counters& count, measure by);

// Indices of the first `top` entries, largest first; 0 is all of them.
std::vector<std::uint32_t> rank_stacks(std::span<const stack_entry> stacks, measure by, std::size_t top);

}  // namespace heapledger::analyse
