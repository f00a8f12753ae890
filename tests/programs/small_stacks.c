// Threads with the smallest stack that there is start programs with an environment that it could not hold, each many
// times, and end. It says how each start went, and whether what that took was given back.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { variables = 1500, rounds = 20, threads = 20 };

static char names[variables][16];
static char* environment[variables + 1];
static char* const arguments[] = {"/bin/true", NULL};
static const char* way;

static int start_one(void) {
  pid_t child = -1;
  int status = -1;
  switch (*way) {
    case 'v':
      child = vfork();
      if (child == 0) {
        execve("/bin/missing", arguments, environment);
        execve("/bin/true", arguments, environment);
        _exit(9);
      }
      break;
    case 'p':
      child = vfork();
      if (child == 0) {
        execvpe("true", arguments, environment);
        _exit(9);
      }
      break;
    case 'f':
      child = fork();
      if (child == 0) {
        execve("/bin/true", arguments, environment);
        _exit(9);
      }
      break;
    case 's':
      if (posix_spawnp(&child, "true", NULL, NULL, arguments, environment) != 0) return -1;
      break;
    default:
      return system("true");
  }
  waitpid(child, &status, 0);
  return status;
}

static void* start_many(void* worst) {
  for (int i = 0; i < rounds; ++i) {
    const int status = start_one();
    if (status != 0) *(int*)worst = status;
  }
  return NULL;
}

static int mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int byte; (byte = getc(maps)) != EOF;) lines += byte == '\n';
  fclose(maps);
  return lines;
}

static int start_in_thread(void) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  pthread_t thread;
  int worst = 0;
  pthread_create(&thread, &small, start_many, &worst);
  pthread_join(thread, NULL);
  return worst;
}

int main(int count, char** given) {
  for (int i = 0; i < variables; ++i) {
    snprintf(names[i], sizeof names[i], "V%d=x", i);
    environment[i] = names[i];
    if (count > 1 && *given[1] == 'y') putenv(names[i]);
  }
  way = count > 1 ? given[1] : "v";
  const int first = start_in_thread(), before = mappings();
  int worst = first;
  for (int i = 1; i < threads && worst == 0; ++i) worst = start_in_thread();
  printf("%s: %#x, %s\n", way, (unsigned)worst, mappings() - before < 10 ? "given back" : "kept");
  return 0;
}
