// A small leak, steady, among a hundred thousand healthy allocations a second.
#include "scenario.hpp"

corpus::place lost{"leak_session"};

[[gnu::noinline]] void leak_session() {
  lost.lose(40);
}

int main(int, char** arguments) {
  corpus::play(
      arguments,
      [](unsigned long tick, double) {
        if (tick % 4 == 0) leak_session();
      },
      200);
  corpus::finish({&lost});
}
