// What a scope used, added up from the shared counters and all threads.
#pragma once

#include "probe/scope/slots.hpp"

namespace heapledger::probe {

struct scope_usage {
  std::int64_t live_bytes, live_blocks, peak_bytes;
  std::uint64_t allocated_bytes, allocations, frees;
  std::int64_t error_bytes;
};

// `alone`: without descendants. False for a handle that names nothing any more.
// `own` is taken. Takes the lock of scopes where the scope has children, and they count.
bool usage_of(books& own, scope_handle handle, bool alone, scope_usage& out);

// For recycling, with the lock held.
bool has_slot(const thread_scopes& of, scope_handle handle);
// What all threads did in one scope; false where they would not hold still.
bool sum_of_threads(const scope_record& record, scope_handle handle, totals& out);

}  // namespace heapledger::probe
