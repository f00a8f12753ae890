// The tables of a report: scopes, pools, threads, sizes, and what resident memory consists of.
#pragma once

#include <string>

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

void write_scopes(page& page, const profile& p);
void write_pools(page& page, const profile& p);
void write_mapped(page& page, const profile& p);  // what the program mapped itself
void write_threads(page& page, const profile& p);
void write_sizes(page& page, const profile& p);
void write_lifetimes(page& page, const profile& p);  // where blocks were timed
void write_memory(page& page, const profile& p);

// A word before all lists, where much of resident memory is in none of them; else empty.
std::string mapped_share_text(const profile& p);
std::string allocator_share_text(const profile& p);

}  // namespace heapledger::report
