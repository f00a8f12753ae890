// A library that allocates as early and as late as one can: in a constructor that runs before the program's own, and
// in a destructor that runs after them.
#include <stdlib.h>

static void* kept;

__attribute__((noinline)) void* site_library(size_t bytes) {
  void* volatile block = malloc(bytes);
  return block;
}

__attribute__((constructor)) static void begin(void) {
  kept = site_library(111);
  free(site_library(11));
}

__attribute__((destructor)) static void end(void) {
  free(kept);
  kept = site_library(1111);  // never freed
}

void* books_library_block(size_t bytes) {
  return site_library(bytes);
}
