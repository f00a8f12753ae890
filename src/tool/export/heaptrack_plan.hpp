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

  std::uint64_t left_out = 0;             // blocks that came and went, above the limit
  std::uint64_t inexact_stacks = 0;       // whose sums no blocks can have
  std::uint64_t missing_temporaries = 0;  // that live at the peak
};

heaptrack_plan plan_blocks(const profile& p, std::uint64_t most_allocations);

enum class heaptrack_phase { before_peak, at_peak, after_peak };

struct heaptrack_events {
  std::function<void(heaptrack_phase)> phase;
  std::function<std::uint32_t(std::uint32_t)> same_again;  // another name for a group
  std::function<void(std::uint32_t)> allocate;
  std::function<void(std::uint32_t)> free;
};

// Returns how many blocks heaptrack takes for temporary that are not.
std::uint64_t play(const heaptrack_plan& plan, const heaptrack_events& events);

}  // namespace heapledger::exports
