// Adds up a segment's books: one set of counters per account, and what they were at the peak.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

struct books {
  std::vector<counters> accounts;   // by account index; all of them, empty ones too
  bool peak_is_now = false;         // no recorded peak is as high as what lives now
  std::uint64_t damaged_cells = 0;  // left out: their numbers are impossible, or they belong to no account
};

// Fold journals are honoured as wire/segment.hpp says. Numbers beyond what any process can have are left out and
// counted, so that sums over the result cannot overflow.
books add_up(const segment_copy& segment);

// What lives alone, by account, for a look at a running program: in a fraction of the memory that books take.
std::vector<std::int64_t> live_by_account(const segment_copy& segment);

// The cells as they are when every fold under way is done.
std::vector<wire::cell> cells_after_folds(const segment_copy& segment);

}  // namespace heapledger::collect
