// Children that allocate and call _exit at once, with a status that says how many blocks each has left: as many as its
// number, modulo 5. vfork: is killed after a child of vfork, which has no books of its own, has called _exit. exit: a
// child that allocates nothing ends with its destructors.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "books.hpp"

namespace {

void check_end(pid_t child, int expected) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "exit") {
    test::escape(malloc(7));
    const pid_t child = fork();
    if (child == 0) exit(0);
    check_end(child, 0);
    return 0;
  }
  if (how == "vfork") {
    test::escape(malloc(7));
    const pid_t child = vfork();
    if (child == 0) _exit(9);
    check_end(child, 9);
    raise(SIGKILL);
  }
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int block = 0; block < i % 5; ++block) test::escape(malloc(100));
      free(malloc(50));
      (i % 2 == 0 ? _exit : _Exit)(i % 5 + 256);  // the lowest eight bits
    }
    check_end(child, i % 5);
  }
}
