// Sessions that live for a fifth of the time, untouched meanwhile, and are freed.
#include "scenario.hpp"

#include <deque>

int main(int, char** arguments) {
  std::deque<std::pair<double, void*>> sessions;
  corpus::play(arguments, [&](unsigned long tick, double share) {
    while (!sessions.empty() && sessions.front().first < share - 0.1) {
      std::free(sessions.front().second);
      sessions.pop_front();
    }
    if (tick % 2 != 0) return;
    sessions.emplace_back(share, std::malloc(300));
    std::memset(sessions.back().second, 1, 300);
  });
  corpus::finish();
}
