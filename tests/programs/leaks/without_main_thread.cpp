// Its first thread ends, and what goes on leaks.
#include "scenario.hpp"

#include <pthread.h>

corpus::place lost{"leak_in_thread"};

[[gnu::noinline]] void leak_in_thread() {
  lost.lose(1000);
}

int main(int, char** arguments) {
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* given) -> void* {
        corpus::play(static_cast<char**>(given), [](unsigned long tick, double) {
          if (tick % 4 == 0) leak_in_thread();
        });
        corpus::finish({&lost});
      },
      arguments);
  pthread_exit(nullptr);
}
