// Whether the program's allocations come to us at all.
#pragma once

namespace heapledger::probe {

// What malloc and free mean to the program is ours: not where an allocator stands before us, in the program itself or
// in a library, as sanitizers have one. Decided once, without a lock, and without dlsym, which would end an error that
// the program has yet to ask for (dlerror).
bool program_calls_us();

}  // namespace heapledger::probe
