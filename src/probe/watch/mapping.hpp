// The mappings under the slots. No state of its own.
#pragma once

#include "probe/watch/window.hpp"

namespace heapledger::probe {

struct watch_trouble {
  wire::watch_obstacle obstacle;
  int error;
};

// Address space and nothing else, at a multiple of a slot; 0: no room.
std::uint64_t reserve_slots(std::uint64_t slots);
// The same over whatever is there, or only where nothing is.
enum class reservation { over, where_free };
void reserve_again(char* at, std::uint64_t slots, reservation how);

// How many slots the limits of the process leave for the window, and for one arena.
std::uint64_t window_slot_limit();
std::uint64_t arena_slot_limit();

// A fresh memfd, mapped shared at `at` and not for children; and mapped privately, anywhere, for a fork.
watch_trouble map_arena(char* at, std::uint64_t slots, char*& private_view);
void unmap_view(char* private_view, std::uint64_t slots);

// Moves a private view over the slots that it is of. At one stroke for other threads.
bool move_view(char* private_view, char* over, std::uint64_t slots);

// Makes slots of a shared mapping empty; false: they keep what they hold.
bool empty_slots(char* at, std::uint64_t slots);

}  // namespace heapledger::probe
