// Where debug files are looked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heapledger {

struct debug_places {
  std::vector<std::string> folders;  // before /usr/lib/debug
  // Asked for what is in none of them: the path of the debug file with this build-id, or nothing. `of` names the
  // module.
  std::function<std::string(const std::string& build_id, const std::string& of)> fetch;
};

}  // namespace heapledger
