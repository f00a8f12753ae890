// Images of 150 kB, each forgotten.
#include "scenario.hpp"

corpus::place lost{"leak_image"};

[[gnu::noinline]] void leak_image() {
  lost.lose(150'000);
}

int main(int, char** arguments) {
  corpus::play(arguments, [](unsigned long tick, double) {
    if (tick % 20 == 0) leak_image();
  });
  corpus::finish({&lost});
}
