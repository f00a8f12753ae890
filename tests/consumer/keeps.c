/* A library that allocates. */
#include <stdlib.h>

void* keep(size_t bytes) {
  static void* volatile kept;
  return kept = malloc(bytes);
}
