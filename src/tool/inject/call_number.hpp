// Which system call a thread is in, as the program's code tells: in the registers a call that the kernel began again is
// restart_syscall, whichever it was.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace heapledger::inject {

inline constexpr std::size_t syscall_bytes = 2;  // of the instruction

// All or nothing, as read_memory().
using memory_reader = std::function<bool(std::uint64_t address, void* to, std::size_t bytes)>;

// `registers` stand behind the syscall instruction. Nothing where its number is not found; what is found may be wrong
// in code that no library is known to have. Found is
//
//   mov $NUMBER, %eax; syscall              in most code
//   mov N(%rsp), %rax; syscall              in glibc from 2.41 on, in a program of one thread,
//   mov N(%rsp), %rsi; ...; call f          and of several
//   f: ...; syscall; ret
std::optional<long> call_number(const user_regs_struct& registers, const memory_reader& read);

}  // namespace heapledger::inject
