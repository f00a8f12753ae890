// The hook of dlopen: a library that is opened with RTLD_DEEPBIND looks names up in what it needs before it looks where
// we are, and so allocates past us. A block of its may have been ours before, and have the tag of a freed one in it.
//
// The loader asks who called it: nothing may stand between, so the last thing is a jump.
#include <dlfcn.h>

#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/process.hpp"

using namespace heapledger::probe;

namespace {

using dlopen_function = void*(const char*, int);

constinit dlopen_function* real_dlopen = nullptr;

HL_COLD void look_up(const void* caller) {
  real_dlopen = reinterpret_cast<dlopen_function*>(next_symbol("dlopen", caller));
  if (real_dlopen == nullptr) __builtin_trap();  // but somebody means it
}

}  // namespace

HL_EXPORT void* dlopen(const char* file, int mode) {
  if (HL_UNLIKELY(real_dlopen == nullptr)) look_up(__builtin_return_address(0));
  if ((mode & RTLD_DEEPBIND) != 0) __atomic_store_n(&state.passed_by, true, __ATOMIC_RELAXED);
  return real_dlopen(file, mode);
}
