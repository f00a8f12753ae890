// Uses pools before the program does, and is unloaded.
#include "heapledger/pool.hpp"

using namespace heapledger;

extern "C" [[gnu::visibility("default")]] void use_a_pool() {
  pool<48, threading::thread_cached> pool;
  pool.deallocate(pool.allocate());
}
// One that is never destroyed, as those of a `pooled` class.
extern "C" [[gnu::visibility("default")]] void use_a_pool_that_stays() {
  static auto& pool = *new heapledger::pool<48, threading::thread_cached>;
  pool.deallocate(pool.allocate());
}
