// The leak report for people: what leaks, then what grows and is used, then what is not decided yet.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

struct leaks_text_options {
  std::size_t top = 0;  // of each list; 0: ten
  std::uint64_t suppressed = 0;
  text_style style;
  std::string file;  // the profile's name, for the command to type next; empty: it still runs
};

std::string leaks_text(const profile& p, std::span<const leak_entry> entries, const leaks_text_options& options);

}  // namespace heapledger::report
