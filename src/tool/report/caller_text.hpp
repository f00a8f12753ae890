// A tree of callers as text: a chain while there is one way, branches with their shares where there are several.
#pragma once

#include <string_view>

#include "tool/analyse/caller_tree.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

struct caller_text_options {
  analyse::measure by = analyse::measure::live;
  double total = 0;            // what shares are of
  std::size_t branchings = 1;  // nested; deeper ones follow the largest way
  bool hints_at_depth = false;
};

// The site's own line is already written; these are the lines that follow.
void write_callers(page& page, const profile& p, const analyse::caller_tree& tree, const caller_text_options& options,
                   std::string_view margin);

// One line: "called by a < b < c", along the largest way, without machinery.
void write_callers_briefly(page& page, const profile& p, const analyse::caller_tree& tree,
                           analyse::machinery& machinery, std::string_view margin);

}  // namespace heapledger::report
