// usage: spawns_by_pidfd NOTHING: has two of that program allocate, in environments of their own.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

int pidfd_spawn(int*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                char* const*);
int pidfd_spawnp(int*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                 char* const*);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  char* const environment[] = {"A=b", NULL};
  char* const first[] = {argv[1], "11", NULL};
  char* const second[] = {argv[1], "22", NULL};
  int fd, status = 0;
  if (pidfd_spawn(&fd, argv[1], NULL, NULL, first, environment) != 0) return 3;
  if (wait(&status) < 0 || status != 0) return 4;
  if (pidfd_spawnp(&fd, argv[1], NULL, NULL, second, environment) != 0) return 5;
  if (wait(&status) < 0 || status != 0) return 6;
  puts("both ended");
  return 0;
}
