// Arenas: the slots' memory, 4096 slots each, and the runs of slots that blocks get. The caller serialises.
//
// An arena is a memfd mapped shared; beside it, somewhere else, lies a private mapping of the same memfd that is never
// touched, until a fork moves it over the shared one. A run is 2^k slots; freed runs are used again in the order in
// which they were freed, and not before some are there.
#pragma once

#include "probe/watch/window.hpp"

namespace heapledger::probe {

inline constexpr std::uint32_t arena_slots = 4096;
inline constexpr std::uint64_t arena_bytes = arena_slots * wire::watch_slot_bytes;

struct watch_trouble {
  wire::watch_obstacle obstacle;
  int error;
};

// Reserves the window, once. `slot_limit`: how many slots it has.
watch_trouble reserve_window(std::uint32_t& slot_limit);

watch_trouble try_arena();  // whether there can be any

inline constexpr std::uint32_t no_slot = UINT32_MAX;

// The first slot of a run of at least so many; no_slot when there is no room: `trouble` says whether the system
// refused.
std::uint32_t take_run(std::uint64_t slots, watch_trouble& trouble);
std::uint32_t run_length(std::uint32_t slot);
bool is_apart(std::uint32_t slot);

// Gives the run and its pages back. Returns whether the arena went with it.
void give_run(std::uint32_t slot);

std::uint32_t slots_ever_used();

// A fork: every arena with blocks becomes private memory of each side. In the parent, `apart` is called with each run
// that thereby left the watch.
void privatise_arenas();
void part_from_child(void (*apart)(std::uint32_t slot));
void keep_inherited();  // in the child

}  // namespace heapledger::probe
