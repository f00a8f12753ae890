// heaptrack's file is a list of events: its reader counts them, and finds the peak by their order. A profile has sums.
// The plan is a list of blocks with the same sums for each stack, and an order of events that has the same peak, in all
// and for each stack, and as many temporaries as heaptrack counts: blocks freed directly after they were allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::exports {

// Blocks of one size and one stack that are treated alike. heaptrack calls it an allocation info.
struct block_group {
  std::uint32_t stack = 0;  // index into profile::stacks
  std::uint64_t size_bytes = 0;
  std::uint64_t blocks = 0;
};

struct heaptrack_plan {
  std::vector<block_group> groups;
  // Indices into groups.
  std::vector<std::uint32_t> temporary;   // freed at once, before the peak
  std::vector<std::uint32_t> passing;     // allocated and freed before the peak
  std::vector<std::uint32_t> peak_freed;  // live at the peak, freed after it
  std::vector<std::uint32_t> peak_live;   // live at the peak and at the end
  std::vector<std::uint32_t> late;        // allocated after the peak, live at the end
  std::optional<std::uint32_t> at_top;    // one block: allocated last before the peak, and freed at once
  std::uint64_t peak_bytes = 0;
  // By stack, when it first and when it last held half of what it has at the peak; 0: not known. Blocks come and go in
  // this order.
  std::vector<std::int64_t> came_ns;
  std::vector<std::int64_t> went_ns;

  std::uint64_t left_out = 0;             // blocks that came and went, above the limit
  std::uint64_t inexact_stacks = 0;       // whose sums no blocks can have
  std::uint64_t missing_temporaries = 0;  // that live at the peak
};

// More blocks than the limit come only of what stays: throws input_error when they are far too many for any file.
heaptrack_plan plan_blocks(const profile& p, std::uint64_t most_allocations);

enum class heaptrack_phase { before_peak, at_peak, after_peak };

struct heaptrack_events {
  std::function<void(heaptrack_phase)> phase;
  std::function<std::uint32_t(std::uint32_t)> same_again;  // another name for a group
  std::function<void(std::uint32_t)> allocate;
  std::function<void(std::uint32_t)> free;
  // Before events on the way up to the peak and down from it: how much lives after them.
  std::function<void(std::uint64_t)> climb_to;
  std::function<void(std::uint64_t)> descend_to;
};

// Returns how many blocks heaptrack takes for temporary that are not.
std::uint64_t play(const heaptrack_plan& plan, const heaptrack_events& events);

}  // namespace heapledger::exports
