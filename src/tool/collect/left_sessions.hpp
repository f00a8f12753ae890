// Session directories that nobody uses any more: whoever was to remove them was killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapledger::collect {

struct left_session {
  std::string path;
  std::uint64_t bytes = 0;  // that its files take
};

// Of this user, in `folder`, the newest first. In use is what one of `segments` lies in, or whose maker's pid there is.
std::vector<left_session> left_sessions(const std::string& folder, const std::vector<std::string>& segments);

// Whether who made the session that this directory is of, or lies in, was a process of this user that is gone.
bool is_left(const std::string& directory);

}  // namespace heapledger::collect
