// The program's pools, where a reader finds them: who is there, and the counters that each pool writes itself.
//
// A pool keeps the address of its counters for life. So they are seen through a mapping of their own that never moves:
// a forked child's becomes private memory before anything else runs there, and part of its own segment once it has one.
#pragma once

#include <cstddef>

#include "probe/base/attributes.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

// Each takes a lock and blocks signals meanwhile.
// nullptr: there is no room. `name` may be null.
wire::pool_counters* open_pool(const char* name, std::size_t chunk_bytes);
// What it counted goes to its kind. A kill between the two loses it.
void close_pool(wire::pool_counters* counters);

// The kind of an open pool; 0 for what is none.
std::uint32_t kind_of_pool(const wire::pool_counters* counters);

// In a forked child, at once: the parent's counters are not ours to write.
void keep_pools();
// And when the child's segment is there.
void move_pools();

}  // namespace heapledger::probe
