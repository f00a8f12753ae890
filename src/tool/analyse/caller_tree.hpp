// Who called an allocation site: its stacks merged into a tree from the site outward. Machinery at both ends is left
// out, recursion is folded, and the tree stops at `depth` levels; what lies beyond is counted, not shown.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/analyse/groups.hpp"

namespace heapledger::analyse {

struct caller {
  frame_ref frame;
  counters count;
  std::vector<std::uint32_t> children;  // indices into caller_tree::nodes, largest first
  std::vector<std::uint32_t> lines;     // different lines of the function that call, at most `lines_kept`, ascending
  bool more_lines = false;
  std::uint32_t cycle = 0;          // this frame ends a run of so many frames that repeats
  std::uint32_t times = 1;          // at most so often
  std::uint32_t frames_beyond = 0;  // longest continuation that was cut at `depth`
};

inline constexpr std::size_t lines_kept = 3;

struct caller_tree {
  std::vector<caller> nodes;        // 0 is the site itself
  std::vector<frame_ref> left_out;  // machinery inside the site, of its largest stack, innermost first
};

struct caller_options {
  measure by = measure::live;
  std::size_t depth = 12;
  bool fold = true;
};

caller_tree build_callers(const profile& p, const site& site, machinery& machinery, const caller_options& options);
// Of one stack, which may be of no allocation: who freed a block, or took a chunk of a pool.
caller_tree build_stack(const profile& p, std::uint32_t node, machinery& machinery);

}  // namespace heapledger::analyse
