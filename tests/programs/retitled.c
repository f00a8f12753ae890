// usage: retitled ROUNDS: a child writes what it is over its command line, and works for a while.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  char* const end = argv[argc - 1] + strlen(argv[argc - 1]);
  const pid_t child = fork();
  if (child == 0) {
    memset(argv[0], 0, (size_t)(end - argv[0]));
    strcpy(argv[0], "retitled: worker 7  ");
    for (int i = 0; i < rounds * 300000; ++i) free(malloc(100 + (size_t)i % 1000));
    return 0;
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status;
}
