// The lock is private to the loader. But dlsym takes it, and calls, while it is held, the resolver of an indirect
// function that it is asked for.
#include "probe/loader/loader_lock.hpp"

#include <dlfcn.h>

#include "probe/base/attributes.hpp"

namespace heapledger::probe {
namespace {

using action_function = void(void*);
constinit action_function* wanted = nullptr;
constinit void* wanted_argument = nullptr;

}  // namespace
}  // namespace heapledger::probe

extern "C" {
static void nothing() {}

// Nobody refers to it, so that only our own question is ever answered with an action.
[[gnu::used]] static void (*resolve_loader_locked())() {
  using namespace heapledger::probe;
  if (wanted != nullptr) {
    const auto action = wanted;
    wanted = nullptr;
    action(wanted_argument);
  }
  return nothing;
}
}

HL_EXPORT void heapledger_loader_locked() __attribute__((ifunc("resolve_loader_locked")));

namespace heapledger::probe {

bool with_loader_lock(void (*action)(void*), void* argument) {
  wanted_argument = argument;
  wanted = action;
  dlsym(RTLD_DEFAULT, "heapledger_loader_locked");
  const bool called = wanted == nullptr;
  wanted = nullptr;
  return called;
}

}  // namespace heapledger::probe
