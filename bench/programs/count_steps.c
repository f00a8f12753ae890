// Counts the instructions that a program executes between two breakpoint instructions (int3) of its own, by
// single-stepping it: exact, the same every time, and possible where hardware counters are not.
// usage: count_steps PROGRAM [ARG...]        prints the count; the program's standard output goes to /dev/null
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char* what) {
  fprintf(stderr, "count_steps: %s: %s\n", what, strerror(errno));
  return 125;
}

// int3 stops like a step does, but with another code.
static int is_breakpoint(pid_t child) {
  siginfo_t info;
  return ptrace(PTRACE_GETSIGINFO, child, NULL, &info) == 0 && info.si_code == SI_KERNEL;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: count_steps PROGRAM [ARG...]\n");
    return 2;
  }
  const pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(argv[1], argv + 1);
    _exit(fail(argv[1]));
  }
  int status;
  if (waitpid(child, &status, 0) < 0) return fail("waitpid");
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  long steps = 0;
  int counting = 0;
  int done = 0;
  long pending = 0;  // a signal that is the program's own
  for (;;) {
    if (ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, pending) < 0) return fail("ptrace");
    if (waitpid(child, &status, 0) < 0) return fail("waitpid");
    if (!WIFSTOPPED(status)) break;
    pending = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (pending) continue;
    if (is_breakpoint(child)) {
      done += counting;
      counting = !counting;
    } else {
      steps += counting;
    }
  }
  if (!done) {
    fprintf(stderr, "count_steps: %s did not execute two breakpoints\n", argv[1]);
    return 125;
  }
  printf("%ld\n", steps);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
