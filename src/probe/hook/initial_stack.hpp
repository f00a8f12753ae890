// What the kernel put on the stack of a new program: argc, the arguments, a null, the environment, a null. It is there
// before libc has its own variables for it.
#pragma once

#include <cstdint>

extern "C" void* __libc_stack_end;

namespace heapledger::probe {

inline std::uint64_t initial_argument_count() {
  return *static_cast<const std::uint64_t*>(__libc_stack_end);
}
inline char** initial_arguments() {
  return static_cast<char**>(__libc_stack_end) + 1;
}
inline char** initial_environment() {
  return initial_arguments() + initial_argument_count() + 1;
}

}  // namespace heapledger::probe
