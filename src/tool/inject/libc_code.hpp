// Instructions of a process's libc that calls from outside run through: as they stand there, none is changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tool/inject/exports.hpp"

namespace heapledger::inject {

// Addresses in the process.
struct libc_code {
  std::uint64_t gate = 0;            // a system call, and a return
  std::uint64_t plain_return = 0;    // of the gate: from there, the loader takes libc for its caller
  std::uint64_t keep_result = 0;     // __fentry__: changes no register, and leaves rax below its stack
  std::uint64_t end_of_handler = 0;  // __restore_rt: the system call that takes a signal frame up
  std::uint64_t change_stack = 0;    // leave, and a return; 0: there is none
  std::uint64_t copy_swapped = 0;    // swab; 0: there is none
};

inline constexpr std::uint64_t gate_bytes = 2;            // of the system call instruction
inline constexpr std::uint64_t end_of_handler_bytes = 9;  // with the system call instruction
inline constexpr std::uint64_t kept_result_below = 64;    // the stack pointer, at the first instruction of keep_result

// `file` is libc's, mapped at `start`; it stays the caller's. Nothing: it does not look as we know it.
std::optional<libc_code> find_libc_code(pid_t pid, const exports& of_libc, std::uint64_t start, int file);

}  // namespace heapledger::inject
