// A program that has the probe loaded into itself while it runs, as `heapledger attach` has it done from outside. The
// probe's path and the settings come in HEAPLEDGER_TEST_PROBE and HEAPLEDGER_TEST_SETTINGS.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace test {

inline void* probe_function(const char* name) {
  // What the tool does: the first of these has the library loaded.
  void* probe = dlopen(getenv("HEAPLEDGER_TEST_PROBE"), RTLD_NOW | RTLD_GLOBAL);
  return probe != nullptr ? dlsym(probe, name) : nullptr;
}

inline int attach() {
  auto* function = reinterpret_cast<int (*)(const char*)>(probe_function("heapledger_attach"));
  return function != nullptr ? function(getenv("HEAPLEDGER_TEST_SETTINGS")) : -1;
}

inline int detach() {
  auto* function = reinterpret_cast<int (*)()>(probe_function("heapledger_detach"));
  return function != nullptr ? function() : -1;
}

}  // namespace test
