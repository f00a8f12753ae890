// Leaks that somebody knows of and does not want to hear about, in LeakSanitizer's syntax:
//
//   # a comment
//   leak:PATTERN
//
// A pattern is looked for in the function, the file and the module of every frame of a leak's stack. `*` stands for any
// text, `^` at its beginning and `$` at its end for the ends of the name; without them it may be any part of it. The
// ends of a function's name are those of the whole, or of what a report shows: without return type and parameters. A
// function without a name is found by what a report shows in its place, MODULE+0x12.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::leaks {

bool pattern_matches(std::string_view pattern, std::string_view name);
bool pattern_matches_function(std::string_view pattern, std::string_view name);
bool pattern_matches_address(std::string_view pattern, const profile& p, const location& place);

class suppressions {
 public:
  // Throw input_error, naming file and line.
  static suppressions read(const std::string& path);
  static suppressions parse(std::string_view text, std::string_view name);

  bool empty() const { return patterns_.empty(); }
  const std::vector<std::string>& patterns() const { return patterns_; }
  bool matches(const profile& p, std::uint32_t node) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace heapledger::leaks
