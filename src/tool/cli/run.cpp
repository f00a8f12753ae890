#include <cstdio>

#include "tool/cli/commands.hpp"

namespace heapledger::cli {

int run(const run_options&) {
  std::fputs("heapledger: this build cannot run programs yet\n", stderr);
  return exit_failure;
}

}  // namespace heapledger::cli
