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

[[noreturn]] void end_by(decltype(&::_exit) next, int status) {
  note_exit(status);
  if (next != nullptr) next(status);
  for (;;) sys::call(__NR_exit_group, static_cast<std::uint64_t>(status));
}

}  // namespace

namespace heapledger::probe {

void start_exit() {
  look_up_next(real._exit, "_exit");
  look_up_next(real._Exit, "_Exit");
}

}  // namespace heapledger::probe

HL_EXPORT void _exit(int status) {
  end_by(real._exit, status);
}
HL_EXPORT void _Exit(int status) {
  end_by(real._Exit, status);
}
