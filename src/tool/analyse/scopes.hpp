// Scopes as rows of a tree: what each did itself, and with those below it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct scope_row {
  std::vector<std::string> path;  // empty: what no scope made
  const scope_info* info = nullptr;
  counters alone;
  counters all;  // with descendants
};

// The part that no scope made first, then parents before their children, siblings by their names. Nothing for a profile
// without scopes.
std::vector<scope_row> scope_rows(const profile& p);

}  // namespace heapledger::analyse
