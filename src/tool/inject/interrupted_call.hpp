// A thread that is stopped while it waits in the kernel is to go on waiting afterwards, as if nothing had been. The
// kernel sees to that by itself for most calls (-ERESTART..., with what is left of the time), and returns EINTR from
// some, which signal(7) lists. These are begun again, where that loses nothing.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <string_view>

#include "tool/inject/call_number.hpp"
#include "tool/inject/held_thread.hpp"

namespace heapledger::inject {

// Whether the registers are of a call that the stop broke off with EINTR. Then they are changed so that the kernel
// begins it again, unless a signal with a handler has come: that returns EINTR, as it should.
bool begin_again(user_regs_struct& registers, bool is_after_syscall_instruction);

// The same for a thread that is stopped. False: its registers cannot be read, and nothing is known of it.
bool read_and_begin_again(pid_t pid, const held_thread& thread, user_regs_struct& registers);

// The registers of a thread as they are when it goes on without the kernel's help, after a stop of ours: at the system
// call, which is to be made anew.
//
// What the kernel remembers of a call that it began again itself is lost in rt_sigreturn: poll, nanosleep and
// FUTEX_WAIT with a time wait for the whole of it once more. (Not nanosleep where what is left is written over what was
// asked for.)
user_regs_struct made_anew(user_regs_struct registers, const memory_reader& read);
user_regs_struct made_anew(pid_t pid, const user_regs_struct& registers);

// Of /proc/PID/task/TID/syscall: whether a stop would make the call wait for the whole of its time once more.
bool would_wait_longer(std::string_view system_call);
// Whether a stop would end it with a part of what it was to do: a write or a send that waits for room.
bool would_be_cut_short(std::string_view system_call);
// Whether the thread waits in the kernel at all.
bool is_waiting(std::string_view system_call);

}  // namespace heapledger::inject
