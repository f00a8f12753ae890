// Opens a library that needs another, which registers unwind rules with a runtime that nobody else has.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  void (*const use_it)(void) = library ? (void (*)(void))dlsym(library, "use_it") : NULL;
  if (!use_it) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  use_it();
  return dlclose(library);
}
