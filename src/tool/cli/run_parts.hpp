// What `run` and `attach` do alike.
#pragma once

#include <string>

#include "tool/cli/commands.hpp"
#include "tool/collect/environment.hpp"
#include "tool/collect/session_directory.hpp"

namespace heapledger::cli {

std::string folder_of_output(const std::string& output);
collect::probe_settings settings_for(const run_options& options, const collect::session_directory& directory);

// While profiles are written, a signal ends the work at once, but not without a word on what is left.
class interruptible {
 public:
  explicit interruptible(const std::string& session_directory);

  // All is written: who still sends one is too late, and nothing is left to be told of.
  void end() const;

 private:
  static void leave(int signal);
};

// Where a standard stream is closed, a file of ours would get its number, and somebody's words.
void fill_standard_streams();

}  // namespace heapledger::cli
