// The names of a profile made safe for a file that others read: valid UTF-8 without control characters. What has no
// name is called by its module and address, as addr2line takes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::exports {

inline constexpr std::string_view no_stack_name = "[no stack]";

class safe_names {
 public:
  explicit safe_names(const profile& p);

  const std::string& text(std::uint32_t string) const { return string < strings_.size() ? strings_[string] : empty_; }
  const std::string& function(const analyse::frame_ref& frame);
  const std::string& file(const analyse::frame_ref& frame) const;  // empty: unknown
  const std::string& module(std::uint32_t index) const { return index < modules_.size() ? modules_[index] : empty_; }

 private:
  const profile& profile_;
  std::vector<std::string> strings_;
  std::vector<std::string> modules_;   // paths
  std::vector<std::string> nameless_;  // by location
  const std::string empty_;
};

// What a scope is called where it is a frame of its own, outside of all others.
std::string scope_frame(std::string_view name);

// "request / query"; empty for what no scope made.
std::string scope_path(const std::vector<std::string>& scope);

// The command line, quoted as a shell would take it.
std::string command_line(const process_info& process);

// Frames of a stack from the allocation outward, into a vector that is used again.
void frames_of(const profile& p, std::uint32_t node, std::vector<analyse::frame_ref>& frames);

}  // namespace heapledger::exports
