// Arenas: stretches of slots with memory of one kind, and the runs of slots in them that blocks get. The caller
// serialises.
//
// The window is cut into arenas. One that is shared is mapped from a memfd, 4096 slots at first; beside it, somewhere
// else, lies a private view of the same memfd that is never touched. At a fork the part of it that was ever used
// becomes an arena apart, by its private view, and the rest goes on. A run is 2^k slots; freed runs are used again in
// the order in which they were freed, and not before some are there.
#pragma once

#include "probe/watch/mapping.hpp"

namespace heapledger::probe {

// Reserves the window, once. `slot_limit`: how many slots it has.
watch_trouble reserve_window(std::uint32_t& slot_limit);
watch_trouble try_arena();  // whether there can be any

inline constexpr std::uint32_t no_slot = UINT32_MAX;

// The first slot of a run of at least so many; no_slot when there is no room: `trouble` says whether the system
// refused.
std::uint32_t take_run(std::uint64_t slots, watch_trouble& trouble);
std::uint32_t run_length(std::uint32_t slot);
bool is_apart(std::uint32_t slot);
bool begins_run(std::uint32_t slot);  // that holds a block; without the lock: asked about a block that one owns

// Gives the run and its pages back.
void give_run(std::uint32_t slot);

// A fork: arenas with blocks become private memory of each side. In the parent, `apart` is called with each run that
// thereby left the watch.
void privatise_arenas();
void part_from_child(void (*apart)(std::uint32_t slot));
void keep_inherited();  // in the child

}  // namespace heapledger::probe
