// More and more buffers that only the kernel touches: it reads into them.
#include "scenario.hpp"

#include <fcntl.h>

int main(int, char** arguments) {
  std::vector<char*> buffers;
  buffers.reserve(100'000);
  const int zero = open("/dev/zero", O_RDONLY);
  std::size_t failures = 0;
  double next_s = 0;
  corpus::play(arguments, [&](unsigned long tick, double) {
    if (tick % 4 == 0) buffers.push_back(static_cast<char*>(std::malloc(512)));
    if (corpus::now_s() < next_s) return;
    next_s = corpus::now_s() + 0.15;
    for (char* buffer : buffers) failures += read(zero, buffer, 512) == 512 ? 0 : 1;
  });
  if (failures != 0) {
    std::printf("%zu reads failed\n", failures);
    return 1;
  }
  corpus::finish();
}
