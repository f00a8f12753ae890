// A block now and then: one in a fortieth of the whole time.
#include "scenario.hpp"

corpus::place lost{"leak_timer"};

[[gnu::noinline]] void leak_timer() {
  lost.lose(1000);
}

int main(int, char** arguments) {
  int done = 0;
  corpus::play(arguments, [&](unsigned long, double share) {
    if (share * 40 < done) return;
    ++done;
    leak_timer();
  });
  corpus::finish({&lost});
}
