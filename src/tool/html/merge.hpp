// Two profiles as one for the page: the matched stacks of a comparison, with what each held before.
#pragma once

#include <vector>

#include "tool/diff/compare.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::html {

struct merged_profiles {
  profile shown;                 // the newer one, with the stacks of both
  std::vector<counters> before;  // of shown.stacks
};

merged_profiles merge_profiles(const diff::comparison& compared);

}  // namespace heapledger::html
