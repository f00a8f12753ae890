// What `heapledger`, `heapledger help` and unknown commands answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapledger::cli {

struct command_entry {
  std::string name;
  const char* arguments;
  const char* purpose;
};

const std::vector<command_entry>& commands();

std::size_t help_width();  // COLUMNS, the terminal's, or 80
std::string overview_help();
std::string version_text();

}  // namespace heapledger::cli
