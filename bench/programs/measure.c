// Runs one program and says what it took, on one line of standard output:
//   wall seconds, user seconds, system seconds, peak KiB of the largest process, exit status (128 + n: signal n;
//   -1: killed after the time limit)
// usage: measure SECONDS [NAME=VALUE...] -- PROGRAM [ARG...]
// The program's standard output goes to /dev/null, its standard error to our own.
// Why not from Python: a child starts with the peak RSS of the process that made it. Ours is that of a few pages.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t expired;
static pid_t child;

static void expire(int signal_number) {
  (void)signal_number;
  expired = 1;
  kill(-child, SIGKILL);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static void become(char** assignments, char** command) {
  setpgid(0, 0);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  for (; strcmp(*assignments, "--") != 0; ++assignments) putenv(*assignments);
  execvp(command[0], command);
  fprintf(stderr, "measure: %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

int main(int argc, char** argv) {
  char** command = argv + 1;
  while (*command && strcmp(*command, "--") != 0) ++command;
  if (argc < 4 || !*command || !command[1]) {
    fprintf(stderr, "usage: measure SECONDS [NAME=VALUE...] -- PROGRAM [ARG...]\n");
    return 2;
  }
  const double start = now();
  child = fork();
  if (child < 0) {
    perror("measure: fork");
    return 125;
  }
  if (child == 0) become(argv + 2, command + 1);
  setpgid(child, child);
  const int ends[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP};
  for (unsigned i = 0; i < sizeof ends / sizeof *ends; ++i) signal(ends[i], expire);
  alarm((unsigned)atoi(argv[1]));
  int status;
  struct rusage usage;
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) continue;
  const double wall = now() - start;
  alarm(0);
  kill(-child, SIGKILL);  // what it left behind
  printf("%.6f %.6f %.6f %ld %d\n", wall, seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss,
         expired               ? -1
         : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                               : WEXITSTATUS(status));
}
