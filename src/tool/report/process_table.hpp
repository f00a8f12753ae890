// Several profiles in one table, a line for each process: which of those that a build or a server started took the
// most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/analyse/measure.hpp"
#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

struct process_row {
  std::string file;  // as the user named it
  process_info process;
  counters totals;
  std::int64_t mapped_bytes = 0;  // beside malloc's: the most that was resident
};

struct process_table_options {
  std::optional<analyse::measure> by;  // nothing: malloc's peak and what was mapped, together
  std::size_t top = 0;                 // 0: twenty
  text_style style;
};

// Of one row at least.
std::string process_table(std::vector<process_row> rows, const process_table_options& options);

}  // namespace heapledger::report
