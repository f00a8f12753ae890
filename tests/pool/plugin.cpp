// Uses pools before the program does, and is unloaded.
#include "heapledger/pool.hpp"

extern "C" [[gnu::visibility("default")]] void use_pools() {
  heapledger::pool<48, heapledger::threading::thread_cached> pool;
  pool.deallocate(pool.allocate());
}
