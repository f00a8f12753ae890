// What went wrong, in the program and in the profile: errors found, losses, missing symbols, the profiler's own share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/analyse/groups.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

// Of a mismatch that analyse::judged_errors doubts, for the operators of this module.
std::string doubt_text(const profile& p, std::uint32_t module);
void write_errors(page& page, const profile& p, analyse::machinery& machinery);
void write_losses(page& page, const profile& p);
// A short word before the lists, when much of them is without names; empty: little is. At the end, which module lacks
// what.
std::string missing_names_text(const profile& p, const std::vector<analyse::site>& sites);
void write_missing_names(page& page, const profile& p, const std::vector<analyse::site>& sites);
// The same where the probe lost much of the stacks.
void write_lost_stacks(page& page, const profile& p);
// The same of stacks that end early, where another way to find callers is there; empty: few do.
std::string dead_end_text(const profile& p);
void write_dead_ends(page& page, const profile& p);
void write_symbol_advice(page& page, const profile& p);
void write_profiler(page& page, const profile& p);

}  // namespace heapledger::report
