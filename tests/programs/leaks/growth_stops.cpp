// A table is filled for a third of the time, and kept; nobody reads it.
#include "scenario.hpp"

int main(int, char** arguments) {
  std::vector<void*> table;
  table.reserve(100'000);
  corpus::play(arguments, [&](unsigned long, double share) {
    if (share > 0.33) return;
    table.push_back(std::malloc(120));
    std::memset(table.back(), 1, 120);
  });
  corpus::finish();
}
