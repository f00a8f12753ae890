// The hooks of the functions that change the environment: the change is made in the program's own, also while another
// is shown. libc has a lock for them, but we cannot take it.
#include "probe/hook/setenv.hpp"

#include <stdlib.h>

#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/shown_environment.hpp"

using namespace heapledger::probe;

namespace {

constinit struct {
  int (*setenv)(const char*, const char*, int);
  int (*unsetenv)(const char*);
  int (*putenv)(char*);
  int (*clearenv)();
} real = {};

}  // namespace

namespace heapledger::probe {

void start_setenv() {
  look_up_next(real.setenv, "setenv");
  look_up_next(real.unsetenv, "unsetenv");
  look_up_next(real.putenv, "putenv");
  look_up_next(real.clearenv, "clearenv");
}

}  // namespace heapledger::probe

HL_EXPORT int setenv(const char* name, const char* value, int replace) {
  if (real.setenv == nullptr) start_setenv();
  const changed_environment own;
  return real.setenv(name, value, replace);
}
HL_EXPORT int unsetenv(const char* name) {
  if (real.unsetenv == nullptr) start_setenv();
  const changed_environment own;
  return real.unsetenv(name);
}
HL_EXPORT int putenv(char* entry) {
  if (real.putenv == nullptr) start_setenv();
  const changed_environment own;
  return real.putenv(entry);
}
HL_EXPORT int clearenv() {
  if (real.clearenv == nullptr) start_setenv();
  const changed_environment own;
  return real.clearenv();
}
