// A program that limits its own memory and finds room for exactly as many blocks as the limit leaves, in a child and
// after a failed exec too: own_limits as|data MIB.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int resource;

static void say(const char* when) {
  struct rlimit shown, also;
  int failed = getrlimit(resource, &shown) + prlimit(0, resource, NULL, &also);
  printf("%s: %d, %lu %lu, %lu %lu\n", when, failed, shown.rlim_cur, shown.rlim_max, also.rlim_cur, also.rlim_max);
  fflush(stdout);
}

static void fill(const char* when) {
  static void* blocks[4096];
  int count = 0;
  errno = 0;
  while (count < 4096 && (blocks[count] = malloc(1 << 20))) count++;
  printf("%s: %d blocks, %s\n", when, count, strerror(errno));
  while (count) free(blocks[--count]);
  say(when);
}

static void change(const char* what, rlim_t soft, rlim_t hard) {
  const struct rlimit wanted = {soft, hard};
  errno = 0;
  printf("%s: %d", what, setrlimit(resource, &wanted));
  printf(", %s\n", strerror(errno));
  say(what);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  resource = strcmp(arguments[1], "as") == 0 ? RLIMIT_AS : RLIMIT_DATA;
  const rlim_t bytes = strtoul(arguments[2], NULL, 10) << 20;
  free(malloc(1));
  say("at first");
  change("set", bytes, bytes + bytes / 2);
  fill("limited");
  change("more than hard", 2 * bytes, bytes + bytes / 2);
  change("up to hard", bytes + bytes / 2, bytes + bytes / 2);
  fill("up to hard");
  const pid_t child = fork();
  if (child == 0) {
    void* const block = malloc(100);  // the child's books begin
    fill("child");
    free(block);
    execl("/nonexistent", "nonexistent", NULL);
    fill("after exec");
    change("less hard", bytes / 2, bytes / 2);
    change("more hard", bytes / 2, bytes);
    fill("less hard");
    execl(arguments[0], arguments[0], NULL);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%d\n", status);
  struct rlimit before;
  const struct rlimit less = {bytes / 4, bytes};
  const int failed = prlimit(getpid(), resource, &less, &before);
  printf("prlimit %d, %lu\n", failed, before.rlim_cur);
  fill("less");
  fflush(stdout);
  const char* kind = resource == RLIMIT_AS ? "ulimit -v; ulimit -Hv" : "ulimit -d; ulimit -Hd";
  if (vfork() == 0) {
    execl("/bin/sh", "sh", "-c", kind, NULL);
    _exit(4);
  }
  wait(NULL);
  fill("after vfork");
  execl("/bin/sh", "sh", "-c", kind, NULL);
  return 5;
}
