// For interrupted_steps: allocations from ever new stacks, each with a size that tells its stack, and a handler that
// interrupts the probe in one of them. Prints how often it did.
// usage: interrupted_events leave | return      what the handler does
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ways.hpp"

static sigjmp_buf away;
static volatile sig_atomic_t handled, finished;
static bool leaves;

constexpr unsigned outermost = 1u << 2 * (levels - 1);
constexpr unsigned interrupted_begin = 3, interrupted_end = 6;  // steps of a round

static void handle(int) {
  ++handled;
  down(static_cast<unsigned>(handled) * 5 % all_codes);  // mostly new, too
  if (leaves) siglongjmp(away, 1);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  leaves = std::strcmp(argv[1], "leave") == 0;
  struct sigaction action {};
  action.sa_handler = handle;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGUSR2, [](int) { finished = 1; });
  for (unsigned round = 0; !finished; ++round) {
    const unsigned code = round * 1117 % all_codes;  // odd: every stack before one comes again
    const unsigned codes[] = {0,        code ^ 1, code ^ outermost, code,      code,
                              code ^ 6, code,     code ^ 2,         code ^ 16, all_codes - 1};
    static volatile unsigned step;  // all called from one place, so that they differ where their codes do
    step = 0;
    if (sigsetjmp(away, 1) != 0) step = interrupted_end;
    for (; step < sizeof codes / sizeof *codes; step = step + 1) {
      if (step == interrupted_begin || step == interrupted_end) asm volatile("int3");
      down(codes[step]);
    }
  }
  std::printf("%d\n", static_cast<int>(handled));
  return 0;
}
