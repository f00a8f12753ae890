// The tables of a report: scopes, pools, threads, sizes, and what resident memory consists of.
#pragma once

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

void write_scopes(page& page, const profile& p);
void write_pools(page& page, const profile& p);
// What the program mapped itself; and a short word before the lists, where it is much of the memory.
void write_mapped(page& page, const profile& p);
void write_mapped_share(page& page, const profile& p);
void write_threads(page& page, const profile& p);
void write_sizes(page& page, const profile& p);
void write_lifetimes(page& page, const profile& p);  // where blocks were timed
void write_memory(page& page, const profile& p);
void write_allocator_share(page& page, const profile& p);  // a word before the lists, where it is much

}  // namespace heapledger::report
