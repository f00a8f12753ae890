// What brings a thread back to where it was when nobody is left to do it: a signal frame, as the kernel lays one down
// before a handler, and takes it up in rt_sigreturn. In one step the thread then has its registers, its vector
// registers and its signal mask again. (Not its shadow stack: who has one is not attached to.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tool/inject/thread_state.hpp"

namespace heapledger::inject {

inline constexpr std::size_t return_frame_alignment = 64;

// Before a thread stands still: the processor is asked for what it has, which takes its time in a virtual machine.
void prepare_return_frames();

std::size_t return_frame_bytes(const thread_state& state);

// For this address: the stack pointer at the system call.
std::vector<char> return_frame(const thread_state& state, std::uint64_t at);

}  // namespace heapledger::inject
