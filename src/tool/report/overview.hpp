// The head of a report: which process, how it ended, its totals, its live bytes over time.
#pragma once

#include <string>
#include <vector>

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

// "exited with status 0", "was killed by SIGKILL (Killed)", ...
std::string ending_text(const process_info& process);
// The same of a profile: of a snapshot, that it is one.
std::string ending_text(const profile& p);

// What must be known of how it was recorded to read its numbers, a sentence or two each.
std::vector<std::string> process_notes(const process_info& process);

// What a program with an allocator of its own looks like from here; empty where allocations were seen.
std::string nothing_seen_text(const profile& p);

void write_overview(page& page, const profile& p);

}  // namespace heapledger::report
