// Where other programs look for what a profiler may have left: prints the open file descriptors, the environment, the
// signal mask and dispositions, timers, resource limits, threads, and the descriptor that dup() gives next.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

extern char** environ;

static int count_entries(const char* path) {
  int count = 0;
  DIR* folder = opendir(path);
  if (!folder) return -1;
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

int main(void) {
  for (int file = 0; file < 1024; file++) {
    int flags = fcntl(file, F_GETFD);
    if (flags < 0) continue;
    struct stat status;
    fstat(file, &status);
    printf("descriptor %d flags %d type %o\n", file, flags, status.st_mode & S_IFMT);
  }
  for (char** variable = environ; *variable; variable++) printf("environment %s\n", *variable);
  printf("preload %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action;
    if (sigaction(number, NULL, &action)) continue;
    int ignored = action.sa_handler == SIG_IGN, taken = !ignored && action.sa_handler != SIG_DFL;
    if (taken || ignored || sigismember(&blocked, number) > 0) {
      printf("signal %d handled %d ignored %d blocked %d\n", number, taken, ignored, sigismember(&blocked, number));
    }
  }
  for (int timer = ITIMER_REAL; timer <= ITIMER_PROF; timer++) {
    struct itimerval value;
    getitimer(timer, &value);
    printf("timer %d %ld\n", timer, value.it_value.tv_sec + value.it_value.tv_usec);
  }
  for (int which = 0; which < 16; which++) {
    struct rlimit limit;
    if (!getrlimit(which, &limit)) printf("limit %d %lx %lx\n", which, limit.rlim_cur, limit.rlim_max);
  }
  printf("threads %d\n", count_entries("/proc/self/task") - 2);
  printf("dumpable %d no_new_privs %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  printf("group is the session's %d\n", getpgrp() == getsid(0));  // who leads it depends on who starts us
  printf("umask %o\n", umask(0));
  int next = dup(0);
  printf("next descriptor %d\n", next);
  return 0;
}
