// The environment of a program under the probe: ours, with the probe preloaded before what was preloaded already and
// the probe's settings added. What an outer `heapledger run` set for us is replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapledger::collect {

struct probe_settings {
  std::string library;  // path of libheapledger.so, or of a link to it
  std::string session_directory;
  std::string stacks = "dwarf";
  std::uint32_t depth = 0;
  bool follow = true;
  std::vector<std::string> only;
  std::string snapshot_signal;  // USR1 or USR2; empty: none
  bool lifetimes = false;
  bool check = false;
};

std::vector<std::string> environment_for(const probe_settings& settings, const char* const* inherited);

// ../lib/heapledger/libheapledger.so as seen from our own executable. Throws input_error when it is not there.
std::string find_probe();

// LD_PRELOAD has no way to name such a path: the loader would split or expand it.
bool can_preload(const std::string& path);

}  // namespace heapledger::collect
