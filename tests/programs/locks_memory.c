// usage: locks_memory [MEBIBYTES ID]: locks its memory in every way, if told so with a limit, as another user and in a
// child; says what the kernel answered, and whether it takes more memory than a small program does.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long kib_of(const char* key) {
  FILE* const file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, key, strlen(key))) kib = atol(line + strlen(key));
  if (file) fclose(file);
  return kib;
}

static void try_to(const char* who) {
  static const int ways[] = {MCL_CURRENT,
                             MCL_FUTURE,
                             MCL_CURRENT | MCL_FUTURE,
                             MCL_CURRENT | MCL_ONFAULT,
                             MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT,
                             MCL_ONFAULT,
                             0,
                             64};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    errno = 0;
    const int result = mlockall(ways[i]);
    void* const block = malloc(1 << 20);
    printf("%s, way %d: %d %s, block %d, memory %s, locked %s\n", who, ways[i], result, strerror(errno), block != NULL,
           kib_of("VmRSS:") < 100 << 10 ? "little" : "much", kib_of("VmLck:") > 1 << 10 ? "some" : "hardly any");
    free(block);
    munlockall();
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc > 2) {
    const struct rlimit limit = {strtoul(argv[1], NULL, 10) << 20, strtoul(argv[1], NULL, 10) << 20};
    const unsigned id = (unsigned)atoi(argv[2]);
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (id != 0 && (setgid(id) != 0 || setuid(id) != 0))) return 1;
  }
  try_to("parent");
  const pid_t child = fork();
  if (child == 0) {
    free(malloc(1));
    try_to("child");
    return 0;
  }
  waitpid(child, NULL, 0);
  return 0;
}
