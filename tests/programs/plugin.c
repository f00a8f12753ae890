// A plugin: built twice, with different code at the same place, so that a stale unwind rule would be seen.
#include <stdlib.h>
#include <string.h>

#ifndef FRAME_BYTES
#define FRAME_BYTES 24
#endif
#define JOIN(a, b) a##b
#define NAMED(name, which) JOIN(name, which)

static void* kept;

__attribute__((noinline)) void* NAMED(site_plugin_, WHICH)(size_t bytes) {
  volatile char frame[FRAME_BYTES];
  frame[bytes % FRAME_BYTES] = 1;
  void* volatile block = malloc(bytes + frame[bytes % FRAME_BYTES] - 1);
  return block;
}

__attribute__((constructor)) static void begin(void) {
  kept = NAMED(site_plugin_, WHICH)(64);
}
__attribute__((destructor)) static void end(void) {
  free(kept);
}

void* plugin_work(size_t bytes) {
  void* volatile block = NAMED(site_plugin_, WHICH)(bytes);
  return block;
}
