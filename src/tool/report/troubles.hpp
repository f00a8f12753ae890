// What went wrong, in the program and in the profile: errors found, losses, missing symbols, the profiler's own share.
#pragma once

#include "tool/analyse/machinery.hpp"
#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

void write_errors(page& page, const profile& p, analyse::machinery& machinery);
void write_losses(page& page, const profile& p);
void write_symbol_advice(page& page, const profile& p);
void write_profiler(page& page, const profile& p);

}  // namespace heapledger::report
