// The frames of stacks as JSON. A location is rendered once and then repeated: the same places are in most stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::report {

class json_frames {
 public:
  explicit json_frames(const profile& p);

  struct list {
    std::string text;          // the elements, without brackets
    std::size_t left_out = 0;  // beyond the most that were asked for
  };
  // Innermost first.
  list of(std::uint32_t node, std::size_t most);
  std::string of(std::uint32_t node) { return of(node, SIZE_MAX).text; }
  // A frame alone, whose location is known.
  std::string one(const analyse::frame_ref& frame) const;

 private:
  const std::string& rendered(std::uint32_t index);  // of a location
  std::string render(const location& place, std::size_t most) const;
  std::string fields(const location& place, const frame_info* frame, bool inlined) const;
  std::string symbol_fields(const frame_info& frame) const;

  const profile& p_;
  std::vector<std::string> rendered_;      // by location
  std::vector<std::string> module_names_;  // by module
};

}  // namespace heapledger::report
