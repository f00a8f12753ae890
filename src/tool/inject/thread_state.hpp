// What of a stopped thread is to be afterwards as it was.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tool/inject/held_thread.hpp"

namespace heapledger::inject {

struct thread_state {
  user_regs_struct registers{};
  std::vector<char> vectors;  // as PTRACE_GETREGSET gives NT_X86_XSTATE
  std::uint64_t mask = 0;     // blocked signals
};

std::optional<thread_state> read_state(const held_thread& thread);  // nothing: errno says why

bool write_vectors(const held_thread& thread, const thread_state& state);
bool write_mask(const held_thread& thread, std::uint64_t mask);

}  // namespace heapledger::inject
