// Runs a program and single-steps it between each two breakpoint instructions (int3) of its own. Prints a line for each
// such stretch: its instructions, and how many of them lock the bus or enter the kernel.
// usage: locked_steps PROGRAM [ARG...]       the program's standard output goes to /dev/null
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_breakpoint(pid_t child) {
  siginfo_t info;
  return ptrace(PTRACE_GETSIGINFO, child, NULL, &info) == 0 && info.si_code == SI_KERNEL;
}

// With a lock prefix; an exchange with memory, which has one by itself; or a system call.
static int locks(const uint8_t* code, size_t bytes) {
  size_t i = 0;
  for (; i + 2 < bytes; ++i) {
    if (code[i] == 0xf0) return 1;
    const int other_prefix = code[i] != 0 && strchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65", code[i]) != NULL;
    if (!other_prefix) break;
  }
  if ((code[i] & 0xf0) == 0x40) ++i;  // REX
  if ((code[i] == 0x86 || code[i] == 0x87) && code[i + 1] >> 6 != 3) return 1;
  return code[i] == 0x0f && code[i + 1] == 0x05;
}

static int locks_next(pid_t child) {
  struct user_regs_struct regs;
  if (ptrace(PTRACE_GETREGS, child, NULL, &regs) < 0) return 0;
  uint8_t code[15] = {0};
  const size_t in_page = 4096 - regs.rip % 4096;
  const struct iovec to = {code, sizeof code};
  struct iovec from = {(void*)(uintptr_t)regs.rip, in_page < sizeof code ? in_page : sizeof code};
  const ssize_t got = process_vm_readv(child, &to, 1, &from, 1, 0);
  return got > 3 && locks(code, (size_t)got);
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: locked_steps PROGRAM [ARG...]\n"), 2;
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  int status, counting = 0;
  long steps = 0, locked = 0, pending = 0;  // a signal that is the program's own
  if (child < 0 || waitpid(child, &status, 0) < 0) return perror("locked_steps"), 125;
  while (WIFSTOPPED(status)) {
    if (ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, pending) < 0 || waitpid(child, &status, 0) < 0)
      return perror("locked_steps"), 125;
    if (!WIFSTOPPED(status)) break;
    pending = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (pending != 0) continue;
    if (is_breakpoint(child)) {
      if (counting) printf("%ld %ld\n", steps, locked);
      counting = !counting;
      steps = locked = 0;
    } else if (counting) {
      ++steps;
    }
    if (counting) locked += locks_next(child);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
