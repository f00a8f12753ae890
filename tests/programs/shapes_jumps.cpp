// Stacks around control flow that leaves frames: exceptions, longjmp, signal handlers on an alternate stack and in
// handlers.
#include <setjmp.h>
#include <signal.h>

#include <stdexcept>
#include <string>

#include "shapes.hpp"

SHAPE_SITE(site_before_throw, "thrower descend exceptions main")
SHAPE_SITE(site_in_destructor, "descend exceptions main")
SHAPE_SITE(site_in_catch, "exceptions main")
SHAPE_SITE(site_in_nested_catch, "nested exceptions main")
SHAPE_SITE(site_after_throw, "exceptions main")

struct cleaner {
  ~cleaner() { site_in_destructor(33); }
};
SHAPE void thrower(unsigned i) {
  site_before_throw(i);
  throw std::runtime_error(std::string(50 + i, 'e'));
}
SHAPE void descend(unsigned depth, unsigned i) {
  cleaner here;
  if (depth == 0) thrower(i);
  if (depth > 0) descend(depth - 1, i);
  test::escape(&here);
}
SHAPE void nested(unsigned i) {
  try {
    descend(i % 5, i);
  } catch (const std::exception& error) {
    test::escape(&error);
    try {
      throw;
    } catch (const std::runtime_error& again) {
      site_in_nested_catch(std::strlen(again.what()));
      throw std::logic_error("another");
    }
  }
}
SHAPE void exceptions() {
  for (unsigned i = 0; i < 200; ++i) {
    try {
      i % 2 ? descend(i % 20, i) : nested(i);
    } catch (const std::logic_error&) {
      site_in_catch(i + 1);
    } catch (const std::exception&) {
      site_in_catch(i);
    }
    site_after_throw(i);
  }
}

SHAPE_SITE(site_before_jump, "jumper jumps main")
SHAPE_SITE(site_after_jump, "jumps main")
static jmp_buf place;
SHAPE void jumper(unsigned depth) {
  site_before_jump(depth);
  if (depth == 0) {
    longjmp(place, 1);
  } else {
    jumper(depth - 1);
  }
  test::escape(&depth);
}
SHAPE void jumps() {
  static unsigned i;
  for (i = 0; i < 200; ++i) {
    if (!setjmp(place)) jumper(i % 30);
    site_after_jump(i);
  }
}

SHAPE_SITE(site_in_handler, "handler interrupted signals main")
SHAPE_SITE(site_around_handler, "interrupted signals main")
SHAPE void handler(int) {
  site_in_handler(44);
  asm volatile("" : : : "memory");
}
SHAPE void interrupted(unsigned i) {
  site_around_handler(i);
  raise(i % 2 ? SIGUSR1 : SIGUSR2);
  site_around_handler(i);
  asm volatile("" : : : "memory");  // no tail call
}
SHAPE void signals() {
  static char memory[64 << 10];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  CHECK(!sigaltstack(&stack, nullptr));
  struct sigaction action = {};
  action.sa_handler = handler;
  CHECK(!sigaction(SIGUSR2, &action, nullptr));
  action.sa_flags = SA_ONSTACK;
  CHECK(!sigaction(SIGUSR1, &action, nullptr));
  for (unsigned i = 0; i < 200; ++i) interrupted(i);
  asm volatile("" : : : "memory");
}

// A handler that interrupts itself: both times a function at two places, of which now the outer one changes, now the
// inner one.
SHAPE_SITE(site_in_trap, "trap_handler trap trap_handler trap traps main")
SHAPE void trap(bool there) {
  if (there)
    asm volatile("int3; nop");
  else
    asm volatile("int3");
}
SHAPE void trap_handler(int) {
  static bool within = false, backwards = false;
  if (within) {
    site_in_trap(66);
    asm volatile("" : : : "memory");  // no tail call
    return;
  }
  within = true;
  for (const bool second : {false, true}) trap(second != backwards);
  backwards = !backwards;
  within = false;
}
SHAPE void traps() {
  struct sigaction action = {};
  action.sa_handler = trap_handler;
  action.sa_flags = SA_NODEFER;
  CHECK(!sigaction(SIGTRAP, &action, nullptr));
  for (unsigned i = 0; i < 50; ++i) trap(i % 2);
  asm volatile("" : : : "memory");
}

// The handler interrupts a function before its frame is set up, and inside: at a faulting first instruction.
SHAPE_SITE(site_in_fault, "fault_handler faults main")
static sigjmp_buf after_fault;
SHAPE void fault_handler(int) {
  site_in_fault(55);
  siglongjmp(after_fault, 1);
}
SHAPE void faults() {
  struct sigaction action = {};
  action.sa_handler = fault_handler;
  action.sa_flags = SA_ONSTACK;
  CHECK(!sigaction(SIGILL, &action, nullptr));
  static unsigned i;
  for (i = 0; i < 50; ++i) {
    if (!sigsetjmp(after_fault, 1)) asm volatile("ud2");
  }
}

int main() {
  exceptions();
  jumps();
  signals();
  traps();
  faults();
  shape::print();
}
