// What a leak watch of the program (`heapledger run --leaks`, `heapledger leaks PID`) says of its stacks right now. It
// says so in the segment; nobody is asked.
#pragma once

#include "tool/collect/scopes.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/live/sample.hpp"

namespace heapledger::live {

// Marks rows of stacks, and adds up all leaks, also those of pools, which are in no row.
void add_leak_marks(sample& to, const collect::segment_file& file, const collect::segment_copy& books,
                    const collect::scope_reader& scopes);

// "LEAK 1.2 MiB/h ", or nothing; in front of a row's place.
std::string mark_text(const row& of);
std::string leaks_summary(const sample& of);  // ", 2 leaks of about 1.2 MiB", or nothing
std::string mark_json(const row& of);         // ,"leak":{...}
std::string leaks_json(const sample& of);     // ,"leaks":{...}

}  // namespace heapledger::live
