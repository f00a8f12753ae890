// One stack as folded text. Frames are separated by ';', which no name contains then: it becomes ':'. Frames that were
// inlined end in "_[i]".
#pragma once

#include <string>
#include <vector>

#include "tool/export/names.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::exports {

class folded_text {
 public:
  explicit folded_text(const profile& p) : profile_(p), names_(p), by_location_(p.locations.size()) {}

  // Valid until the next call.
  const std::string& stack(const stack_entry& stack);

 private:
  const std::string& of_location(std::uint32_t index);

  const profile& profile_;
  safe_names names_;
  std::vector<std::string> by_location_;
  std::vector<std::uint32_t> path_;
  std::string line_;
};

}  // namespace heapledger::exports
