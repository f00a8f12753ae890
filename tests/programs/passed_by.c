// Frees blocks of a library that is bound to libc first, where blocks of the program's own were before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
  void* (*const make)(size_t) = library ? (void* (*)(size_t))dlsym(library, "make") : NULL;
  if (!make) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  for (int i = 0; i < 1000; ++i) {
    free(malloc(40));
    free(make(50));
  }
  return 0;
}
