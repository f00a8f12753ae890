// A small block early and another 0.7 s later, which make the peak: late_peak EARLY LATE. Both live for 0.5 s then.
#include <unistd.h>

#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* volatile early = malloc(static_cast<std::size_t>(std::atol(argv[1])));
  usleep(700'000);
  void* volatile late = malloc(static_cast<std::size_t>(std::atol(argv[2])));
  usleep(500'000);
  free(late);
  free(early);
  return 0;
}
