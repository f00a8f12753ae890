// Opens a library for itself, as plugins are opened, and calls it: what it needs is not in the program's list.
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
