// pidfd_spawn and pidfd_spawnp as the C library has them from 2.39 on, but for the descriptor: what a program executes
// by them has the environment that is given, and nothing else.
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

static int spawn(int* pidfd, const char* path, char* const* arguments, char* const* environment) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    syscall(SYS_execve, path, arguments, environment);
    syscall(SYS_exit_group, 127);
  }
  *pidfd = child;
  return 0;
}

int pidfd_spawn(int* pidfd, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  (void)actions;
  (void)attributes;
  return spawn(pidfd, path, arguments, environment);
}

int pidfd_spawnp(int* pidfd, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return pidfd_spawn(pidfd, file, actions, attributes, arguments, environment);
}
