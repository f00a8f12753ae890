// Adds frames to a profile, each distinct string and frame once, those that it already has included.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tool/profile/profile.hpp"
#include "tool/symbolize/resolver.hpp"

namespace heapledger::symbols {

class frame_interner {
 public:
  explicit frame_interner(profile& target);  // which nobody else adds to meanwhile

  std::uint32_t frame(const resolved_frame& resolved);

 private:
  std::uint32_t string(std::string_view text);

  profile& target_;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::map<frame_info, std::uint32_t> frames_;
};

}  // namespace heapledger::symbols
