// The parent is healthy; a forked child leaks.
#include "scenario.hpp"

#include <sys/wait.h>

corpus::place lost{"leak_in_child"};

[[gnu::noinline]] void leak_in_child() {
  lost.lose(80);
}

int main(int, char** arguments) {
  const pid_t child = fork();
  if (child == 0) {
    corpus::play(arguments, [](unsigned long tick, double) {
      if (tick % 4 == 0) leak_in_child();
    });
    corpus::finish({&lost});
  }
  corpus::play(arguments, [](unsigned long, double) {});
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
