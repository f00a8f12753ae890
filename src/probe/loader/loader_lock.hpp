// Alone with the dynamic loader's lists: no other thread loads or unloads anything meanwhile. Lookups by other threads
// go on; they take no lock.
#pragma once

namespace heapledger::probe {

// Calls `action` once; false if it could not be had. One thread at a time. Takes the loader's lock, which is recursive.
bool with_loader_lock(void (*action)(void*), void* argument);

}  // namespace heapledger::probe
