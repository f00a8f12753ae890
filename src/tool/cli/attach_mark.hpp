// A file in the session directory of a program that was attached to. It says that it was, holds a lock for as long as
// somebody watches, and what that one has to say at the end. A second file is how `detach` asks for the end.
#pragma once

#include <string>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::cli {

class attach_mark {
 public:
  explicit attach_mark(const std::string& directory);  // throws input_error

  bool is_asked_to_end() const;
  void say(const std::string& line) const;

 private:
  std::string directory_;
  collect::unique_fd file_;
};

enum class attach_watcher { never, gone, there };  // never: the directory is not of an attached program

struct found_watcher {
  attach_watcher state = attach_watcher::never;
  collect::unique_fd file;  // locked by us where it is gone
};
found_watcher find_watcher(const std::string& directory);

// Asks the one who watches to end, waits until it has, and returns what it said, line by line. Throws input_error.
std::string ask_to_end(const std::string& directory, const found_watcher& watcher);

// The directory and what is in it, when nothing of it is needed any more: our own files and nothing else. Books that
// are still there are of a child that began when those of the others were written.
void remove_session(const std::string& directory);

// Those beside this one whose `attach` was killed before it began: nothing is in them, and nobody else knows of them.
void remove_abandoned_sessions(const std::string& directory);

}  // namespace heapledger::cli
