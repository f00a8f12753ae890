// What went wrong, in the program and in the profile: errors found, losses, missing symbols, the profiler's own share.
#pragma once

#include <vector>

#include "tool/analyse/groups.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

void write_errors(page& page, const profile& p, analyse::machinery& machinery);
void write_losses(page& page, const profile& p);
// A short word before the lists, when much of them is without names; and at the end, which module lacks what.
void write_missing_names(page& page, const profile& p, const std::vector<analyse::site>& sites);
void write_symbol_advice(page& page, const profile& p);
void write_profiler(page& page, const profile& p);

}  // namespace heapledger::report
