// Leaves its terminal as daemons do, and has nothing to do yet: becomes_daemon [allocates]
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** arguments) {
  (void)arguments;
  void* volatile block = malloc(1000);
  int ready[2];
  if (pipe(ready)) return 1;
  if (fork() != 0) {  // its parent ends when it is on its own
    char byte;
    close(ready[1]);
    return read(ready[0], &byte, 1) == 1 ? 0 : 2;
  }
  setsid();
  if (count > 1) block = malloc(2000);
  for (int fd = 0; fd < 3; ++fd) close(fd);
  if (write(ready[1], "", 1) != 1) return 3;
  alarm(60);
  pause();
  return block == NULL;
}
