// The report for people. What a reader needs first stands first; the whole truth is in --json (report/json.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/analyse/measure.hpp"
#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

struct text_options {
  std::optional<analyse::measure> by;  // the list that comes first and in full; none: what the ending suggests
  std::size_t top = 0;                 // 0: ten, and five in the lists that follow
  std::size_t depth = 0;               // 0: what matters
  bool full_recursion = false;
  // Stacks that the lists leave out, by index, and for which option's sake; empty: none. `known` are left out of what
  // was never freed only.
  std::vector<bool> left_out;
  std::string left_out_by;
  std::vector<bool> known;
  text_style style;
  std::string file;          // the profile's name, for the commands to type next
  std::string window_words;  // for those commands, too: the options that chose the window
};

std::string text_report(const profile& p, const text_options& options);

}  // namespace heapledger::report
