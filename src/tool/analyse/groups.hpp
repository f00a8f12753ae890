// Allocation sites: stacks whose first frame that matters is the same place in the code, added up.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/analyse/measure.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct site {
  frame_ref frame;  // symbol and location none: stacks without any frame
  counters count;
  std::vector<std::uint32_t> stacks;  // indices into profile::stacks
};

// What makes two frames the same place: function and line, or the address where there is no symbol.
std::uint64_t place_key(const profile& p, const frame_ref& frame);
// What makes two frames the same caller: the function alone.
std::uint64_t function_key(const profile& p, const frame_ref& frame);

// Of the stacks that are not left out, by their index; of all where that is empty.
std::vector<site> find_sites(const profile& p, machinery& machinery, const std::vector<bool>& left_out = {});

// Indices of the `top` largest sites whose value is above zero.
std::vector<std::uint32_t> rank_sites(const std::vector<site>& sites, measure by, std::size_t top);

}  // namespace heapledger::analyse
