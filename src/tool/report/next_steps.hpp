// The end of the text report: commands to type next.
#pragma once

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"
#include "tool/report/text.hpp"

namespace heapledger::report {

void write_next(page& page, const profile& p, const text_options& options);

}  // namespace heapledger::report
