// The word that a process leaves in the session directory when a limit of its own keeps it from having books
// (src/probe/hook/without_books.hpp).
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// All that was left.
struct limited_processes {
  std::vector<uncounted_info> programs;
  std::set<pid_t> pids;
};

struct left_word {
  pid_t pid;           // as the process knows it
  std::string reason;  // of an uncounted_info
  std::string program;
};

// Reads and removes it; nothing where the file is something else.
std::optional<left_word> take_word(const std::string& directory, const std::string& file_name);

}  // namespace heapledger::collect
