// Marks, and snapshots of all books, in the segment. Usable in signal handlers.
#pragma once

namespace heapledger::probe {

// nullptr: without a name.
void add_mark(const char* name);
void add_snapshot(const char* name);

void reset_markers();

}  // namespace heapledger::probe
