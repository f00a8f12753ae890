// What changed between two profiles, for people: the totals, then the places that changed most.
#pragma once

#include <span>
#include <string>

#include "tool/analyse/measure.hpp"
#include "tool/diff/compare.hpp"
#include "tool/diff/gate.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

struct gate_result {
  diff::gate gate;
  analyse::measure by = analyse::measure::peak;
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool worse = false;
};

struct diff_text_options {
  analyse::measure by = analyse::measure::peak;
  std::size_t top = 0;  // 0: ten
  text_style style;
  std::string old_file = {};  // as the user named them; empty: no command is suggested
  std::string new_file = {};
};

std::string diff_text(const diff::comparison& compared, std::span<const gate_result> gates,
                      const diff_text_options& options);

// "peak grew by 1.2 MiB (34.1 %), from 3.5 MiB to 4.7 MiB: more than 5% allows".
std::string gate_text(const gate_result& result);

}  // namespace heapledger::report
