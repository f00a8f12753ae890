// The modes of `waits` in which every register has a value that it must still have afterwards: while the program runs,
// and while it waits; with errno, the signal mask and the alternate stack.
#pragma once

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "waits.hpp"
#include "waits_at_work.hpp"

extern "C" {

struct register_file {
  alignas(64) std::uint64_t vectors[32][8];
  std::uint64_t masks[8];
  std::uint64_t general[13];  // rbx, rbp, rdx, rsi, rdi, r8, r9, r10, r12, r13, r14, r15, flags
  std::uint32_t mxcsr;
  std::uint16_t x87;
};

// Sets all registers to what `in` has, counts `rounds` down, or makes the system call of rdi, rsi and rdx if it is 0,
// and stores them. `level`: 2 with AVX-512, 1 with AVX, 0 without. Returns rax.
long through_registers(const register_file* in, register_file* out, std::uint64_t rounds, int level);
}

asm(R"(
  .pushsection .text
  .type through_registers, @function
through_registers:
  push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15
  push %rsi; push %rcx
  ldmxcsr 2216(%rdi)
  fldcw 2220(%rdi)
  cmp $1, %ecx
  jb 1f
  je 2f
  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  vmovdqu64 64*\i(%rdi), %zmm\i
  .endr
  .irp i,1,2,3,4,5,6,7
  kmovq 2048+8*\i(%rdi), %k\i
  .endr
  jmp 3f
2:
  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  vmovdqu 64*\i(%rdi), %ymm\i
  .endr
  jmp 3f
1:
  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  movdqu 64*\i(%rdi), %xmm\i
  .endr
3:
  mov %rdx, %rcx
  mov %rdi, %rax
  mov 2112(%rax), %rbx
  mov 2120(%rax), %rbp
  mov 2128(%rax), %rdx
  mov 2136(%rax), %rsi
  mov 2144(%rax), %rdi
  mov 2152(%rax), %r8
  mov 2160(%rax), %r9
  mov 2168(%rax), %r10
  mov 2176(%rax), %r12
  mov 2184(%rax), %r13
  mov 2192(%rax), %r14
  mov 2200(%rax), %r15
  pushq 2208(%rax)
  xor %eax, %eax
  popf
  jrcxz 5f
4:
  lea -1(%rcx), %rcx
  jrcxz 6f
  jmp 4b
5:
  syscall
6:
  push %rax
  pushf
  cld
  mov 24(%rsp), %rax
  popq 2208(%rax)
  mov %rbx, 2112(%rax)
  mov %rbp, 2120(%rax)
  mov %rdx, 2128(%rax)
  mov %rsi, 2136(%rax)
  mov %rdi, 2144(%rax)
  mov %r8, 2152(%rax)
  mov %r9, 2160(%rax)
  mov %r10, 2168(%rax)
  mov %r12, 2176(%rax)
  mov %r13, 2184(%rax)
  mov %r14, 2192(%rax)
  mov %r15, 2200(%rax)
  mov 8(%rsp), %rcx
  cmp $1, %ecx
  jb 1f
  je 2f
  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  vmovdqu64 %zmm\i, 64*\i(%rax)
  .endr
  .irp i,1,2,3,4,5,6,7
  kmovq %k\i, 2048+8*\i(%rax)
  .endr
  jmp 3f
2:
  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  vmovdqu %ymm\i, 64*\i(%rax)
  .endr
  jmp 3f
1:
  .irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  movdqu %xmm\i, 64*\i(%rax)
  .endr
3:
  stmxcsr 2216(%rax)
  fnstcw 2220(%rax)
  pop %rax
  add $16, %rsp
  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
  ret
  .size through_registers, . - through_registers
  .popsection
)");

namespace {

constexpr std::uint64_t carry_sign_and_direction = 0x001 | 0x080 | 0x400;
constexpr std::uint64_t arithmetic_flags = 0xcd5;

void clear_vectors(int level) {
  if (level > 0) asm volatile("vzeroall" ::: "xmm0");
}

struct surroundings {
  alignas(64) char alternate[65536];
  sigset_t mask;

  surroundings() {
    const stack_t stack{alternate, 0, sizeof alternate};
    sigaltstack(&stack, nullptr);
    sigset_t some;
    sigemptyset(&some);
    for (const int signal : {SIGUSR2, SIGTERM, SIGBUS, SIGRTMIN + 3}) sigaddset(&some, signal);
    sigprocmask(SIG_SETMASK, &some, nullptr);
    sigprocmask(SIG_SETMASK, nullptr, &mask);
  }

  void check() const {
    expect(errno == ENOTTY, "errno is what it was");
    stack_t stack{};
    sigaltstack(nullptr, &stack);
    expect(stack.ss_sp == alternate && stack.ss_size == sizeof alternate && stack.ss_flags == 0, "alternate stack");
    sigset_t now;
    sigprocmask(SIG_SETMASK, nullptr, &now);
    for (int signal = 1; signal < 65; ++signal)
      expect(sigismember(&now, signal) == sigismember(&mask, signal), "signal mask");
  }
};

void check_registers(const register_file& in, const register_file& out, int level) {
  const unsigned count = level == 2 ? 32 : 16;
  const std::size_t bytes = level == 2 ? 64 : level == 1 ? 32 : 16;
  for (unsigned i = 0; i < count; ++i)
    expect(std::memcmp(in.vectors[i], out.vectors[i], bytes) == 0, "vector registers");
  for (unsigned i = 1; level == 2 && i < 8; ++i) expect(in.masks[i] == out.masks[i], "mask registers");
  for (unsigned i = 0; i < 12; ++i) expect(in.general[i] == out.general[i], "general registers");
  expect((in.general[12] & arithmetic_flags) == (out.general[12] & arithmetic_flags), "flags");
  expect(in.mxcsr == out.mxcsr && in.x87 == out.x87, "control words");
}

void fill(register_file& in, std::uint64_t seed) {
  for (auto* word = in.vectors[0]; word != in.general + 12; ++word) *word = seed = seed * 6364136223846793005u + 1;
  in.general[12] = 0x202 | carry_sign_and_direction;
  in.mxcsr = 0x9fc0;  // denormals are zero, and flushed
  in.x87 = 0x27f;     // rounded to double
}

int level_here() {
  return __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
}

// It hardly does anything else.
void registers() {
  static surroundings around;
  static register_file in, out;
  const int level = level_here();
  ready();
  for (std::uint64_t round = 1; round % 16 != 0 || !is_told_to_end(); ++round) {
    fill(in, round);
    errno = ENOTTY;
    through_registers(&in, &out, 300'000, level);
    check_registers(in, out, level);
    clear_vectors(level);
    around.check();
  }
}

void registers_in_read() {
  static surroundings around;
  static register_file in, out;
  static char byte = 0;
  const int level = level_here();
  fill(in, 7);
  in.general[2] = 1;
  in.general[3] = reinterpret_cast<std::uint64_t>(&byte);
  in.general[4] = 0;
  ready();
  errno = ENOTTY;
  expect(through_registers(&in, &out, 0, level) == 1, "read");
  check_registers(in, out, level);
  around.check();
}

}  // namespace
