// A cache that is filled up to a bound; then the oldest goes. Nobody reads it.
#include "scenario.hpp"

int main(int, char** arguments) {
  std::vector<void*> cache(400);
  std::size_t at = 0;
  corpus::play(arguments, [&](unsigned long tick, double) {
    if (tick % 2 != 0) return;
    void*& place = cache[at++ % cache.size()];
    std::free(place);
    place = std::malloc(150);
    std::memset(place, 1, 150);
  });
  corpus::finish();
}
