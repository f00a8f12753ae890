// Preloaded beside an oracle: takes what the oracle adds to the environment out again before main. A program that
// copies or counts its environment then allocates exactly what it would alone. The oracle's own launcher is left be.
#include <stdlib.h>
#include <string.h>

extern char** environ;

__attribute__((constructor(102))) static void plain_environment(void) {
  const char* preload = getenv("LD_PRELOAD");
  if (!getenv("COUNTING_BOOKS") && !(preload && strstr(preload, "vgpreload"))) return;
  static const char* const hidden[] = {"COUNTING_", "LD_PRELOAD=", "LD_LIBRARY_PATH=", "GLIBCPP_FORCE_NEW=",
                                       "GLIBCXX_FORCE_NEW="};
  char** out = environ;
  for (char** in = environ; *in; in++) {
    int hide = 0;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) hide |= !strncmp(*in, hidden[i], strlen(hidden[i]));
    if (!hide) *out++ = *in;
  }
  *out = NULL;
}
