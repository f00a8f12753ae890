// A child of vfork that waits, in the memory of its parent. It says its pid when it is there.
#include <stdio.h>
#include <unistd.h>

int main(void) {
  if (vfork() == 0) {
    char line[32];
    const int length = snprintf(line, sizeof line, "%d\n", (int)getpid());
    (void)!write(STDOUT_FILENO, line, (size_t)length);
    char byte;
    (void)!read(STDIN_FILENO, &byte, 1);
    _exit(0);
  }
  return 0;
}
