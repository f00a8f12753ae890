// That a process is still the one that was looked at, with the same program, and a thread one of its own: numbers are
// used again, and what was found in one program is nowhere in the next.
#pragma once

#include <sys/types.h>

#include <string>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::inject {

class same_process {
 public:
  same_process() = default;
  explicit same_process(pid_t pid);  // before it is looked at

  bool is_there() const;  // also as a zombie; and where the kernel has no means to tell
  // Of a thread that is stopped by us, whose number cannot change therefore.
  bool has(pid_t tid) const;
  bool runs_the_same() const;

 private:
  pid_t pid_ = 0;
  collect::unique_fd pidfd_;
  std::string image_;
};

}  // namespace heapledger::inject
