// A library that makes a scope with a budget, and allocates in it; to be unloaded.
#include <heapledger/heapledger.h>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) heapledger_scope plugin_scope(void** block) {
  const heapledger_budget budget{1000, HEAPLEDGER_UNLIMITED, HEAPLEDGER_UNLIMITED, HEAPLEDGER_FAIL, 0};
  const heapledger_scope scope = heapledger_scope_create("plugin", 6, 0, &budget);
  const heapledger_scope before = heapledger_scope_enter(scope);
  *block = malloc(100);
  heapledger_scope_leave(before);
  return scope;
}
