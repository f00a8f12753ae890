// For interrupted_steps: allocations from ever new stacks, each with a size that tells its stack, and a handler that
// interrupts the probe in one of them. Prints how often it did, how many allocations there were, and its pid.
// usage: interrupted_events leave | return | apart | fork | fork_and_allocate [turns]
// What the handler does, and whether two stacks come in turn so often that the probe learns the ends of stacks. apart:
// it returns, and runs on a stack of its own, at higher addresses, that the kernel says nothing of meanwhile. fork: it
// returns, and so does a child of it, which ends with that event; before, it allocates as the handler does, or not.
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ways.hpp"

static sigjmp_buf away;
static volatile sig_atomic_t handled, finished;
static bool leaves, in_turn, forks, child_allocates, in_child;
static unsigned long taken;  // in this process

constexpr unsigned outermost = 1u << 2 * (levels - 1);
constexpr unsigned interrupted_begin = 3, interrupted_end = 6;  // steps of a round

static void take(unsigned code) {
  down(code);
  ++taken;
}

// Waits for the child: so what it does to its parent's books is not overwritten by what the parent goes on with.
static void fork_in_event() {
  const pid_t child = fork();
  CHECK(child >= 0);
  in_child = child == 0;
  int status = 0;
  if (!in_child) CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

static void handle(int) {
  handled = handled + 1;
  if (forks) {
    fork_in_event();
    if (!in_child || !child_allocates) return;
  }
  take(static_cast<unsigned>(handled) * 5 % all_codes);  // mostly new, too
  if (leaves) siglongjmp(away, 1);
}

SITE void site_other() {
  void* p = malloc(1);
  test::escape(p);
  free(p);
}
static void turn() {
  site_other();
  down(0);
}

static void end_child() {
  for (unsigned code = 0; code < 100 && child_allocates; ++code) take(code);
  std::_Exit(0);
}

static void rounds() {
  for (unsigned i = 0; in_turn && i < 10'000; ++i) turn();
  for (unsigned round = 0; !finished; ++round) {
    for (unsigned i = 0; in_turn && i < 16; ++i) turn();
    const unsigned code = round * 1117 % all_codes;  // odd: every stack before one comes again
    constexpr unsigned all_other = 0x555, elsewhere = all_codes;
    const unsigned z = code ^ outermost;
    // In turns the probe learns the ends of z and code by plain walks; that of z, half overwritten, would lead to code.
    const unsigned codes[] = {in_turn ? (z ^ all_other) + elsewhere : 0,
                              in_turn ? z : code ^ 1,
                              in_turn ? (code ^ all_other) + elsewhere : z,
                              code,
                              code,
                              code ^ 6,
                              code + elsewhere,
                              in_turn ? z : code,
                              code ^ 2,
                              code ^ 16,
                              all_codes - 1};
    static volatile unsigned step;  // all called from one place, so that they differ where their codes do
    step = 0;
    if (sigsetjmp(away, 1) != 0) step = interrupted_end;
    while (step < sizeof codes / sizeof *codes) {
      if (step == interrupted_begin || step == interrupted_end) asm volatile("int3");
      if (step == interrupted_end) site_other();  // nearer to main: so it is seen that an event was left
      take(codes[step]);
      if (in_child) end_child();
      step = step + 1;
    }
  }
}

// On a stack below the thread's own memory, with the handler's above it.
static void run_apart() {
  constexpr std::size_t bytes = 1 << 20;
  char* const own = static_cast<char*>(__builtin_thread_pointer());
  const auto map = [](void* at) {
    void* const memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return static_cast<char*>(memory);
  };
  char* const below = map(reinterpret_cast<void*>(std::uintptr_t{1} << 40));
  char* const above = map(own + (std::ptrdiff_t{1} << 36) - reinterpret_cast<std::uintptr_t>(own) % 4096);
  constexpr int no_room_above = 77;  // by chance, one time in twenty: the thread's memory lies too near to the end
  if (above < own) std::exit(no_room_above);
  CHECK(below < own);
  constexpr int autodisarm = static_cast<int>(1u << 31);
  const stack_t alternate{above, autodisarm, bytes};
  CHECK(sigaltstack(&alternate, nullptr) == 0);
  static ucontext_t here, there;
  CHECK(getcontext(&there) == 0);
  there.uc_stack = {below, 0, bytes};
  there.uc_link = &here;
  makecontext(&there, rounds, 0);
  CHECK(swapcontext(&here, &there) == 0);
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  in_turn = argc == 3;
  leaves = std::strcmp(argv[1], "leave") == 0;
  child_allocates = std::strcmp(argv[1], "fork_and_allocate") == 0;
  forks = child_allocates || std::strcmp(argv[1], "fork") == 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGUSR2, [](int) { finished = 1; });
  if (std::strcmp(argv[1], "apart") == 0)
    run_apart();
  else
    rounds();
  std::printf("%d %lu %d\n", static_cast<int>(handled), taken, static_cast<int>(getpid()));
  return 0;
}
