// Where debug files are looked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heapledger {

// Of a process that runs. A build-id decides whether it is the module's.
struct mapped_file {
  std::string name;  // without its folder
  std::string path;
};

struct debug_places {
  std::vector<std::string> folders = {};  // before /usr/lib/debug
  // Asked for what is in none of them: the path of the debug file with this build-id, or nothing. `of` names the
  // module.
  std::function<std::string(const std::string& build_id, const std::string& of)> fetch = {};
  std::vector<mapped_file> mapped = {};  // asked for what is not under its own name
};

}  // namespace heapledger
