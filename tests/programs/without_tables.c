/* Allocates from two functions without unwind tables, which keep frame pointers. */
#include <stdlib.h>

__attribute__((noinline)) static void* inner(size_t bytes) {
  void* volatile block = malloc(bytes);
  return block;
}

__attribute__((noinline)) static void outer(void) {
  for (int i = 0; i < 100; ++i) free(inner(1000));
  void* volatile kept = inner(5000);
  (void)kept;
}

int main(void) {
  outer();
  return 0;
}
