// A cache that only grows, and of which each entry is looked at, rarely.
// usage: leaks_growing_cache SECONDS [SHARE]      the first look comes after that share of the time
#include "scenario.hpp"

std::vector<char*> cache;

[[gnu::noinline]] void remember() {
  cache.push_back(static_cast<char*>(std::malloc(200)));
  std::memset(cache.back(), 1, 200);
}

int main(int count, char** arguments) {
  unsigned long sum = 0;
  cache.reserve(100'000);
  double next_s = count > 2 ? corpus::now_s() + std::atof(arguments[1]) * std::atof(arguments[2]) : 0;
  corpus::play(arguments, [&](unsigned long tick, double) {
    if (tick % 4 == 0) remember();
    if (corpus::now_s() < next_s) return;
    next_s = corpus::now_s() + 0.15;
    for (const char* entry : cache) sum += static_cast<unsigned char>(*entry);
  });
  if (sum == 0) return 1;
  corpus::finish();
}
