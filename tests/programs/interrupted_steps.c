// Runs a program that executes pairs of breakpoint instructions (int3), and sends it SIGUSR1 between those of a pair:
// at each instruction of the probe in turn that the first few rounds (with --beside, the first) executed there, when it
// is met. Then SIGUSR2, once. usage: interrupted_steps [--beside] PROGRAM [ARG...]
// --beside: only where the thread has all signals blocked (but SIGSYS), as while it holds a lock. It stays where it is,
// and another thread, which waits for SIGUSR1, does what it does and writes a byte to descriptor 9.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_code = 1 << 20, reply_descriptor = 9 };

static pid_t child;
static uint64_t code_start, code_end;  // the probe's
static uint8_t met[most_code];
static uint64_t planted;
static long replaced;
static int replies[2];

static void find_code(void) {
  char name[64], line[4096];
  snprintf(name, sizeof name, "/proc/%d/maps", child);
  FILE* maps = fopen(name, "r");
  while (maps != NULL && code_end == 0 && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "libheapledger.so") != NULL && strstr(line, " r-xp ") != NULL &&
        sscanf(line, "%lx-%lx", &code_start, &code_end) == 2 && code_end - code_start > most_code)
      code_end = code_start + most_code;
  if (maps != NULL) fclose(maps);
}

static uint64_t position(void) {
  struct user_regs_struct regs;
  return ptrace(PTRACE_GETREGS, child, NULL, &regs) == 0 ? regs.rip : 0;
}
static void go_back(void) {
  struct user_regs_struct regs;
  if (ptrace(PTRACE_GETREGS, child, NULL, &regs) < 0) return;
  --regs.rip;
  ptrace(PTRACE_SETREGS, child, NULL, &regs);
}

// The next instruction that was met, from there on; 0: there is none.
static uint64_t next_met(uint64_t at) {
  while (at < code_end && !met[at - code_start]) ++at;
  return at < code_end ? at : 0;
}
static void plant(uint64_t at) {
  replaced = ptrace(PTRACE_PEEKTEXT, child, (void*)at, NULL);
  ptrace(PTRACE_POKETEXT, child, (void*)at, (void*)((replaced & ~0xffL) | 0xcc));
  planted = at;
}
static void take_out(void) {
  if (planted != 0) ptrace(PTRACE_POKETEXT, child, (void*)planted, (void*)replaced);
  planted = 0;
}

static int is_breakpoint(void) {
  siginfo_t info;
  return ptrace(PTRACE_GETSIGINFO, child, NULL, &info) == 0 && info.si_code == SI_KERNEL;
}

static int blocks_all_signals(void) {
  uint64_t blocked = 0;
  const uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1);
  return ptrace(PTRACE_GETSIGMASK, child, sizeof blocked, &blocked) == 0 && (blocked | never) == ~0ull;
}

static int let_another_thread_act(void) {
  char done;
  return kill(child, SIGUSR1) == 0 && read(replies[0], &done, 1) == 1;
}

int main(int argc, char** argv) {
  const int beside = argc > 1 && strcmp(argv[1], "--beside") == 0;
  argv += beside;
  if (argc - beside < 2) return fprintf(stderr, "usage: interrupted_steps [--beside] PROGRAM [ARG...]\n"), 2;
  if (pipe(replies) < 0) return perror("interrupted_steps"), 125;
  child = fork();
  if (child == 0) {
    if (beside) dup2(replies[1], reply_descriptor);
    close(replies[0]), close(replies[1]);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  const int traced_rounds = beside ? 1 : 3;
  int status, inside = 0, stepping = 0, rounds = 0;
  long pending = 0;
  uint64_t wanted = 0;
  close(replies[1]);
  if (child < 0 || waitpid(child, &status, 0) < 0) return perror("interrupted_steps"), 125;
  while (WIFSTOPPED(status)) {
    if (ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, pending) < 0 || waitpid(child, &status, 0) < 0)
      return perror("interrupted_steps"), 125;
    if (!WIFSTOPPED(status)) break;
    pending = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (pending != 0) continue;
    const uint64_t at = position();
    if (!is_breakpoint()) {
      if (stepping && at >= code_start && at < code_end) met[at - code_start] = 1;
    } else if (at - 1 == planted) {
      go_back();
      take_out();
      if (!beside)
        pending = SIGUSR1;
      else if (blocks_all_signals() && !let_another_thread_act())
        return fprintf(stderr, "interrupted_steps: nothing from the other thread\n"), kill(child, SIGKILL), 125;
    } else if (inside = !inside, inside) {
      if (rounds++ == 0) find_code();
      stepping = rounds <= traced_rounds;
      if (stepping) continue;
      wanted = next_met(rounds == traced_rounds + 1 ? code_start : wanted + 1);
      if (wanted == 0)
        pending = SIGUSR2;
      else
        plant(wanted);
    } else {
      stepping = 0;
      take_out();
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
