// From a stopped thread to whether it is at a safe point: walks its stack, and says of each frame what code it is.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <string>
#include <vector>

#include "tool/inject/safe_point.hpp"
#include "tool/inject/stack_walk.hpp"
#include "tool/inject/tail_calls.hpp"
#include "tool/inject/target.hpp"

namespace heapledger::inject {

class stack_judge {
 public:
  explicit stack_judge(const target& in);

  std::string why_unsafe(pid_t tid, const user_regs_struct& registers);  // empty: it is safe

 private:
  placed_frame place(const walked_frame& frame) const;

  const target& in_;
  std::vector<exports> exports_;  // of each module
  std::vector<code_kind> kinds_;
  std::vector<nameless_part> parts_of_libc_;
  stack_walker walker_;
};

}  // namespace heapledger::inject
