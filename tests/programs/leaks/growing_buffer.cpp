// Buffers that grow by realloc as they are appended to.
#include "scenario.hpp"

int main(int, char** arguments) {
  std::vector<char*> logs(20);
  std::size_t bytes = 0;
  corpus::play(arguments, [&](unsigned long tick, double) {
    if (tick % 4 != 0) return;
    bytes += 16;
    for (auto& log : logs) {
      log = static_cast<char*>(std::realloc(log, bytes));
      std::memset(log + bytes - 16, 1, 16);
    }
  });
  corpus::finish();
}
