// Where stacks end.
#pragma once

#include <cstdint>

extern "C" void* __libc_stack_end;

namespace heapledger::probe {

// The code at which the kernel starts a process (_dl_start_user, without unwind information) is where its stacks end:
// nothing lies outside it but the arguments.
inline bool at_process_start(std::uint64_t rsp) {
  constexpr std::uint64_t alignment_room = 64;
  return reinterpret_cast<std::uint64_t>(__libc_stack_end) - rsp <= alignment_room;
}

// The end of the stack that holds `rsp`. Frame pointers are followed no further: in code built without them rbp holds
// anything, often the address of a readable heap node. On a stack that is not the thread's own (a fiber's, a signal
// handler's) the end is not known, and a guess.
inline std::uint64_t end_of_stack(std::uint64_t rsp) {
  constexpr std::uint64_t largest_stack = std::uint64_t{1} << 32, guess = 64 * 1024;
  const auto thread = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());  // glibc keeps it above the stack
  const auto main = reinterpret_cast<std::uint64_t>(__libc_stack_end);
  if (thread - rsp < largest_stack) return thread;
  return main - rsp < largest_stack ? main : rsp + guess;
}

}  // namespace heapledger::probe
