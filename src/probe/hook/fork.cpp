// _Fork is a fork without handlers, for signal handlers. Ours must run nevertheless: without them the child has no
// memory where watched blocks are, and counts its pools in its parent's books. They are async-signal-safe: what they
// lock is only ever held with signals blocked. fork itself does not come by here: the C library calls its own.
#include "probe/hook/fork.hpp"

#include <sys/types.h>

#include <cerrno>

#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/process.hpp"
#include "probe/hook/shown_environment.hpp"
#include "probe/watch/control.hpp"
#include "probe/watch/watch.hpp"

using namespace heapledger::probe;

namespace {

using fork_function = pid_t();
constinit fork_function* real_fork = nullptr;

}  // namespace

namespace heapledger::probe {

void start_fork() {
  look_up_next(real_fork, "_Fork");
}

}  // namespace heapledger::probe

HL_EXPORT pid_t _Fork() {
  if (real_fork == nullptr) start_fork();
  if (real_fork == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  if (watch_held_by_fork) return real_fork();  // by a fork's own handlers
  prepare_fork();
  const pid_t child = real_fork();
  if (child == 0) {
    fork_in_child();
    enter_child();
    forget_shown_environment();
  } else {
    const int error = errno;
    fork_in_parent();
    errno = error;
  }
  return child;
}
