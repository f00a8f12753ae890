// Children that allocate and call _exit at once, with a status that says how many blocks each has left: as many as its
// number, modulo 5. And some that are killed after a child of vfork, which has no books of its own, has called _exit.
#include <sys/wait.h>
#include <unistd.h>

#include "books.hpp"

int main() {
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int block = 0; block < i % 5; ++block) test::escape(malloc(100));
      free(malloc(50));
      (i % 2 == 0 ? _exit : _Exit)(i % 5 + 256);  // the lowest eight bits
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i % 5);
  }
  for (int i = 0; i < 20; ++i) {
    const pid_t killed = fork();
    if (killed == 0) {
      test::escape(malloc(7));
      const pid_t child = vfork();
      if (child == 0) _exit(9);
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9);
      raise(SIGKILL);
    }
    CHECK(waitpid(killed, nullptr, 0) == killed);
  }
}
