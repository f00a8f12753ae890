// Forks when it is told to, and its child allocates when that is told to: a byte on standard input each time. Prints
// "on", the child's pid, and "allocated".
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char buffer[100];

int main(void) {
  char told;
  setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
  void* volatile block = malloc(1000);
  puts("on");
  if (read(0, &told, 1) != 1) return 1;
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child > 0) {
    printf("%d\n", child);
    pause();
  }
  if (read(0, &told, 1) != 1) return 3;
  block = malloc(2000);
  puts("allocated");
  while (read(0, &told, 1) == 1) {
  }
  return block == NULL;
}
