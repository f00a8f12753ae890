// Preloaded beside whatever counts: takes what the counting needs out of the environment again, just before main. A
// program that copies or counts its environment then allocates the same under every oracle. Launchers are left be.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

extern void heapledger_scope_close(void) __attribute__((weak));

static void plain_environment(void) {
  const char* preload = getenv("LD_PRELOAD");
  if (!preload || !strcmp(program_invocation_short_name, "env")) return;
  // The probe has hidden itself already; a name that only it exports tells that it is there.
  const int probed = heapledger_scope_close != NULL;
  if (!probed && !strstr(preload, "counting_preload") && !strstr(preload, "vgpreload")) return;
  static const char* const hidden[] = {"COUNTING_", "HEAPLEDGER_", "LD_PRELOAD="};
  char** out = environ;
  for (char** in = environ; *in; in++) {
    int hide = 0;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) hide |= !strncmp(*in, hidden[i], strlen(hidden[i]));
    if (!hide) *out++ = *in;
  }
  *out = NULL;
}

// In the place of the C library's, which every program calls from its first instructions.
typedef int main_function(int, char**, char**);
typedef int start_function(main_function*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
int __libc_start_main(main_function* program, int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  plain_environment();
  void* next = dlsym(RTLD_NEXT, "__libc_start_main");
  start_function* start;
  memcpy(&start, &next, sizeof start);
  return start(program, argc, argv, init, fini, rtld_fini, stack_end);
}
