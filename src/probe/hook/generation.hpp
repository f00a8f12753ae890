// The process's generation: what a thread compares its books with at each event, so that one comparison asks for all
// that may have changed: that the probe is ready, that the process is a forked child, that code was unloaded, that
// accounts mean something else.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

void reset_generations();  // after fork: the locks may be held by a thread that is not here

// The first of a process: from now on events are booked.
void start_generation();
// In a forked child, where the kernel has not done so.
void leave_parents_generation();
void end_generation();  // from now on none are

// Code that the program makes itself, by its unwind tables (unwind/registered_frames.hpp).
HL_COLD void code_made(const void* section);
HL_COLD void code_unmade(const void* section);

// Brings the books of this thread to the process's generation; they forget what it made untrue.
void catch_up(books& own);

}  // namespace heapledger::probe
