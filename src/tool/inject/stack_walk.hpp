// The stack of a stopped thread of another process, from the unwind information of the files that it runs from.
#pragma once

#include <elfutils/libdwfl.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tool/inject/modules.hpp"

namespace heapledger::inject {

struct walked_frame {
  std::uint64_t address = 0;  // in the innermost and in interrupted ones the next instruction; else within the call
  bool was_interrupted = false;
};

class stack_walker {
 public:
  stack_walker(pid_t pid, const std::vector<module>& modules);
  ~stack_walker();
  stack_walker(const stack_walker&) = delete;
  stack_walker& operator=(const stack_walker&) = delete;

  // Innermost first; the first one is where it stands. Empty if the stack has no end that we would go to.
  std::vector<walked_frame> walk(pid_t tid, const user_regs_struct& registers);

 private:
  struct callbacks;
  using page = std::array<std::uint64_t, 512>;

  bool read_word(std::uint64_t address, std::uint64_t& word);

  pid_t pid_;
  Dwfl* dwfl_ = nullptr;
  bool is_attached_ = false;
  pid_t tid_ = 0;
  const user_regs_struct* registers_ = nullptr;
  std::map<std::uint64_t, std::unique_ptr<page>> pages_;  // of this walk; null: cannot be read
};

}  // namespace heapledger::inject
