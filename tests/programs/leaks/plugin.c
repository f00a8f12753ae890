/* Opened late by late_library. */
#include <stdlib.h>
#include <string.h>

unsigned long lost_bytes = 0;

__attribute__((noinline)) void leak_in_plugin(void) {
  void* volatile block = malloc(96);
  memset(block, 1, 96);
  block = NULL;
  lost_bytes += 96;
}
