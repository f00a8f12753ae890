// Children of every kind, made while other threads allocate: forks fork N | vfork N | spawn N | exec N
// The child's books are known: site_child takes 100 blocks of 40 bytes and gives half of them back.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "books.hpp"

extern char** environ;

SITE void site_child() {
  for (int i = 0; i < 100; ++i) {
    void* p = malloc(40);
    CHECK(p);
    test::fill(p, 40, 1);
    test::escape(p);
    if (i % 2) free(p);
  }
}
SITE void* site_parent(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  return p;
}

static int status_of(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int child_of_fork(unsigned i, void* inherited) {
  site_child();
  free(inherited);  // the parent's block, in the child's copy of the heap
  switch (i % 5) {
    case 0:
      _exit(10);
    case 1:
      std::exit(11);
    case 2: {
      pid_t grandchild = fork();
      CHECK(grandchild >= 0);
      if (!grandchild) {
        site_child();
        _exit(12);
      }
      _exit(status_of(grandchild));
    }
    case 3:
      execl("/bin/sh", "sh", "-c", "exit 13", nullptr);
      _exit(99);
    default:
      raise(SIGKILL);
      _exit(99);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  std::string mode = argv[1];
  auto count = static_cast<unsigned>(std::atoi(argv[2]));
  std::atomic<bool> stop{false};
  std::atomic<unsigned> busy{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      busy++;
      while (!stop) {
        void* blocks[20];
        for (std::size_t n = 0; n < 20; ++n) blocks[n] = site_parent(n * 100 + 1);
        for (void* block : blocks) free(block);
      }
    });
  }
  while (busy < 3) std::this_thread::yield();
  static long sum;  // static: vfork's child shares the stack
  static unsigned i;
  for (i = 0; i < count; ++i) {
    pid_t child = -1;
    void* block = site_parent(500);
    char* const shell[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 14"), nullptr};
    char* const missing[] = {const_cast<char*>("/nonexistent/program"), nullptr};
    if (mode == "fork") {
      child = fork();
      if (!child) return child_of_fork(i, block);
    } else if (mode == "vfork") {
      child = vfork();
      if (!child) {
        if (i % 2) _exit(15);
        execv("/bin/sh", shell);
        _exit(99);
      }
    } else if (mode == "spawn") {
      CHECK(posix_spawnp(&child, "sh", nullptr, nullptr, shell, environ) == 0);
      pid_t none;
      CHECK(posix_spawn(&none, missing[0], nullptr, nullptr, missing, environ) == ENOENT);
    } else if (mode == "exec") {
      child = fork();
      if (!child) {
        if (i % 2) execl(argv[0], argv[0], "none", "0", nullptr);  // the same program again
        char* const empty[] = {nullptr};
        execve("/bin/sh", shell, empty);
        _exit(99);
      }
    } else {
      break;
    }
    CHECK(child > 0);
    sum += status_of(child);
    free(block);
  }
  stop = true;
  for (auto& worker : workers) worker.join();
  test::put(1, "%s: %ld\n", argv[1], sum);
}
