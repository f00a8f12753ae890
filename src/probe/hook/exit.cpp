// The hooks of the functions that end a process without its destructors. What it says by them is noted in its books:
// from outside, how a child of the program ended is seen only by who looks in time.
//
// A child of vfork and a signal handler may call them: they use functions that were looked up when the probe was
// loaded, and store a few words.
#include "probe/hook/exit.hpp"

#include <unistd.h>

#include <cstdlib>

#include "probe/base/attributes.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/process.hpp"

using namespace heapledger::probe;

namespace {

constinit struct {
  decltype(&::_exit) _exit;
  decltype(&::_Exit) _Exit;
} real = {};

}  // namespace

namespace heapledger::probe {

void start_exit() {
  look_up_next(real._exit, "_exit");
  look_up_next(real._Exit, "_Exit");
}

}  // namespace heapledger::probe

HL_EXPORT void _exit(int status) {
  note_exit(status);
  if (real._exit != nullptr) real._exit(status);
  for (;;) sys::call(__NR_exit_group, static_cast<std::uint64_t>(status));
}
HL_EXPORT void _Exit(int status) {
  note_exit(status);
  if (real._Exit != nullptr) real._Exit(status);
  for (;;) sys::call(__NR_exit_group, static_cast<std::uint64_t>(status));
}
