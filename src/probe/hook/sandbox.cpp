// The hook of prctl, by which a program tells that it will be refused system calls: what we shall need of them is asked
// for before. Of a process without books, such as a child of fork that has not allocated yet, they begin now.
//
// A child of vfork and a signal handler may call it.
#include "probe/hook/sandbox.hpp"

#include <errno.h>
#include <linux/prctl.h>

#include <cstring>

#include "probe/base/attributes.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/process.hpp"

using namespace heapledger::probe;

namespace {

using word = unsigned long;
using prctl_function = int(int, word, word, word, word);

constinit prctl_function* real_prctl = nullptr;

int pass_on(int option, word a, word b, word c, word d) {
  if (real_prctl != nullptr) return real_prctl(option, a, b, c, d);
  const long result = sys::call(__NR_prctl, option, a, b, c, d);
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

bool is_child_of_vfork() {
  return process.generation != 0 && static_cast<std::uint32_t>(sys::getpid()) != segment.header->pid;
}

void prepare() {
  if (!keeps_books() || is_child_of_vfork()) return;
  { const booking event(__builtin_dwarf_cfa()); }
  calls_may_be_refused = true;
}

// The kernel is not asked for it any more. It has read it.
void note_name(const char* name) {
  if (!calls_may_be_refused || !keeps_books() || books_of_thread() == nullptr) return;
  auto& thread = *books_of_thread()->thread;
  std::strncpy(thread.name, name, sizeof thread.name - 1);
}

}  // namespace

namespace heapledger::probe {

void start_sandbox() {
  look_up_next(real_prctl, "prctl");
}

}  // namespace heapledger::probe

HL_EXPORT int prctl(int option, word a, word b, word c, word d) {
  if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) prepare();
  const int result = pass_on(option, a, b, c, d);
  if (option == PR_SET_NAME && result == 0) note_name(reinterpret_cast<const char*>(a));
  return result;
}
