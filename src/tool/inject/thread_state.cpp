#include "tool/inject/thread_state.hpp"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

namespace heapledger::inject {

std::optional<thread_state> read_state(const held_thread& thread) {
  constexpr std::size_t most_vector_state = 1 << 16;
  thread_state state;
  state.vectors.resize(most_vector_state);
  iovec vectors{state.vectors.data(), state.vectors.size()};
  if (!thread.read(state.registers) || ::ptrace(PTRACE_GETREGSET, thread.tid(), NT_X86_XSTATE, &vectors) != 0 ||
      ::ptrace(PTRACE_GETSIGMASK, thread.tid(), sizeof state.mask, &state.mask) != 0)
    return {};
  state.vectors.resize(vectors.iov_len);
  return state;
}

bool write_vectors(const held_thread& thread, const thread_state& state) {
  iovec vectors{const_cast<char*>(state.vectors.data()), state.vectors.size()};
  return ::ptrace(PTRACE_SETREGSET, thread.tid(), NT_X86_XSTATE, &vectors) == 0;
}

bool write_mask(const held_thread& thread, std::uint64_t mask) {
  return ::ptrace(PTRACE_SETSIGMASK, thread.tid(), sizeof mask, &mask) == 0;
}

}  // namespace heapledger::inject
