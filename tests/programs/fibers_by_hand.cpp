// Fibers as Boost and PHP start them: what lies outside the first function is code without unwind tables, which nothing
// called, and which ends the process.
#include <ucontext.h>

#include "shapes.hpp"

SHAPE_SITE(site_in_fiber, "fiber_main")

asm(R"(
  .text
  push %rbp
  jmp *%rbx
ends_the_process:
  xor %edi, %edi
  call _exit@plt
  hlt
)");
extern "C" const char ends_the_process[];

static ucontext_t scheduler, fiber;
alignas(16) static std::uint64_t stack[8 << 10];

SHAPE void deeper(unsigned times) {
  site_in_fiber(times);
  if (times > 1) deeper(times - 1);
  asm volatile("" : : : "memory");  // no tail call
}
SHAPE void fiber_main() {
  deeper(40);
  setcontext(&scheduler);
}

int main() {
  std::uint64_t* const top = stack + sizeof stack / sizeof *stack - 1;  // as a call leaves rsp
  *top = reinterpret_cast<std::uint64_t>(ends_the_process);
  CHECK(!getcontext(&fiber));
  fiber.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(fiber_main);
  fiber.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(top);
  CHECK(!swapcontext(&scheduler, &fiber));
}
