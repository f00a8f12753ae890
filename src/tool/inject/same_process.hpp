// That a process is still the one that was looked at, and a thread one of its own: numbers are used again.
#pragma once

#include <sys/types.h>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::inject {

class same_process {
 public:
  same_process() = default;
  explicit same_process(pid_t pid);  // before it is looked at

  bool is_there() const;  // also as a zombie; and where the kernel has no means to tell
  // Of a thread that is stopped by us, whose number cannot change therefore.
  bool has(pid_t tid) const;

 private:
  pid_t pid_ = 0;
  collect::unique_fd pidfd_;
};

}  // namespace heapledger::inject
