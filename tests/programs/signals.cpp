// Signals and the heap: signals allocating | interrupting | jumping | alternate
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "books.hpp"

namespace {

std::atomic<unsigned> handled;
constexpr unsigned enough = 2000;

void handle(int number, void (*handler)(int), int flags = SA_RESTART) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK(!sigaction(number, &action, nullptr));
}

// One signal, not an interval: where a handler takes longer than that, nothing else would run.
void tick(long microseconds) {
  itimerval timer = {{0, 0}, {0, microseconds}};
  CHECK(!setitimer(ITIMER_REAL, &timer, nullptr));
}

void block(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  CHECK(!pthread_sigmask(how, &set, nullptr));
}

}  // namespace

SITE void site_handler(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  test::fill(p, bytes, 6);
  p = realloc(p, bytes * 2);
  CHECK(p && test::holds(p, bytes, 6));
  free(p);
}
SITE void site_worker(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  test::escape(p);
  free(p);
}

// Handlers allocate, and hit either a thread that computes or one that is between two allocations.
static void allocating() {
  handle(SIGALRM, [](int) {
    int saved = errno;
    site_handler(100 + handled % 400);
    handled++;
    tick(50);
    errno = saved;
  });
  std::atomic<bool> stop{false};
  block(SIG_BLOCK);
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      while (!stop) {
        for (std::size_t n = 1; n < 200; ++n) site_worker(n);
        block(SIG_UNBLOCK);
        for (int spin = 0; spin < 2000; ++spin) test::escape(&spin);
        block(SIG_BLOCK);
      }
    });
  }
  tick(50);
  block(SIG_UNBLOCK);
  volatile double x = 1;
  while (handled < enough) x = x * 1.0000001 + 1;
  block(SIG_BLOCK);
  stop = true;
  for (auto& worker : workers) worker.join();
}

// Handlers that do not allocate hit threads anywhere in malloc and free; nothing may come out of it.
static void interrupting() {
  handle(SIGALRM, [](int) {
    errno = 1234;
    handled++;
    tick(50);
    errno = 0;
  });
  tick(50);
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([] {
      while (handled < enough) {
        for (std::size_t n = 1; n < 100; ++n) site_worker(n * n);
      }
    });
  }
  for (auto& worker : workers) worker.join();
}

static sigjmp_buf jump;
SITE void site_jumper(unsigned depth) {
  void* p = malloc(depth + 1);
  CHECK(p);
  test::escape(p);
  free(p);
  if (depth == 0) {
    raise(SIGUSR1);
  } else {
    site_jumper(depth - 1);
  }
  test::escape(&depth);
}
static void jumping(int flags) {
  handle(
      SIGUSR1,
      [](int) {
        handled++;
        site_handler(24);
        siglongjmp(jump, 1);
      },
      flags);
  handle(
      SIGSEGV,
      [](int) {
        handled++;
        siglongjmp(jump, 2);
      },
      flags);
  static unsigned i;
  static volatile int* volatile nowhere = nullptr;
  for (i = 0; i < 300; ++i) {
    int how = sigsetjmp(jump, 1);
    if (how == 0 && i % 3) site_jumper(i % 100);
    if (how == 0) *nowhere = 1;
    site_worker(i);
  }
}

static void alternate() {
  static char memory[64 << 10];
  stack_t stack = {memory, 0, sizeof memory};
  CHECK(!sigaltstack(&stack, nullptr));
  jumping(SA_ONSTACK);
  handle(
      SIGUSR2,
      [](int) {
        volatile char here = 0;
        CHECK(const_cast<char*>(&here) >= memory && const_cast<char*>(&here) < memory + sizeof memory);
        site_handler(40);
        handled++;
      },
      SA_ONSTACK);
  for (int i = 0; i < 300; ++i) {
    raise(SIGUSR2);
    site_worker(17);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  std::string mode = argv[1];
  if (mode == "allocating")
    allocating();
  else if (mode == "interrupting")
    interrupting();
  else if (mode == "jumping")
    jumping(0);
  else if (mode == "alternate")
    alternate();
  else
    CHECK(!"mode");
  tick(0);
  test::put(1, "%s: %s\n", argv[1], handled >= 300 ? "handled" : "not handled");
}
