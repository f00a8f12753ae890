// What `attach` does to a process, with any library: injector PID LIBRARY FUNCTION ARGUMENT [PATIENCE_MS]
// Prints what the function returned, for how long the thread stood still, and how many were looked at; or says why not.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tool/inject/inject.hpp"

int main(int argc, char** argv) {
  using namespace heapledger::inject;
  if (argc < 5) return 2;
  try {
    const auto in = examine_target(static_cast<pid_t>(std::atoi(argv[1])), argv[2]);
    wish what{.library = argv[2], .function = argv[3], .argument = argv[4]};
    if (argc > 5) what.patience_ns = std::strtoull(argv[5], nullptr, 10) * 1'000'000;
    const auto got = call_in(in, what);
    std::printf("%d %llu %u\n", got.result, static_cast<unsigned long long>(got.stopped_ns), got.tries);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
