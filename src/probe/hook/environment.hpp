// Our variables in the program's environment: hidden from the program, and put back for what it executes, so that
// children are followed even where the program builds their environment itself.
//
// Usable between vfork and exec: nothing here allocates after start_environment().
#pragma once

#include <cstddef>

namespace heapledger::probe {

// Takes our variables, and ourselves out of LD_PRELOAD, out of `environ`. With `follow`, children get them back.
void start_environment(bool follow);

class child_environment {
 public:
  // How much room the child's environment needs; 0 when it is the program's own.
  static std::size_t bytes(char* const* program);

  // Builds it in `room`, which must outlive its use.
  static char* const* build(char* const* program, void* room);
};

}  // namespace heapledger::probe
