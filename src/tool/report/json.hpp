// The report for programs: one JSON object as INTERFACE promises, every stack with every frame. It is written piece by
// piece, so a profile of a hundred thousand stacks needs no document in memory. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "tool/analyse/measure.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::report {

struct json_options {
  analyse::measure by = analyse::measure::live;
  std::size_t top = 0;              // 0: every stack
  std::size_t depth = 0;            // innermost frames of each; 0: all
  std::vector<bool> left_out = {};  // stacks, by index; empty: none
};

using json_sink = std::function<void(std::string_view)>;

void write_json(const profile& p, const json_options& options, const json_sink& sink);

}  // namespace heapledger::report
