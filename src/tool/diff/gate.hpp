// A limit on how much worse a profile may be: "peak=5%", "live=64KiB", "count=1000". More of it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tool/analyse/measure.hpp"
#include "tool/diff/compare.hpp"

namespace heapledger::diff {

struct gate {
  std::string text;                    // as it was written
  std::optional<analyse::measure> by;  // nothing: that of the comparison
  std::int64_t amount = 0;             // bytes or allocations, or millionths of a percent
  bool percent = false;
};

// [MEASURE=]AMOUNT: a number with or without fraction, and a unit: nothing, B, KB, KiB, MB, MiB, GB, GiB, k, M, G, or
// %. Nothing where it cannot be read.
std::optional<gate> parse_gate(std::string_view text);

// Whether `after` is above `before` by more than the gate lets pass. Any growth from 0 is more than any percentage.
bool is_worse(const gate& gate, std::int64_t before, std::int64_t after);

// What a gate goes by: the totals, and of the peak what is known of it.
std::int64_t value_before(const comparison& compared, analyse::measure by);
std::int64_t value_after(const comparison& compared, analyse::measure by);

}  // namespace heapledger::diff
