// Gives blocks of malloc back with their sizes, as folly does on jemalloc, and asks for more room in their places.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((weak)) void sdallocx(void*, size_t, int);
__attribute__((weak)) size_t xallocx(void*, size_t, size_t, int);

enum { slots = 256, rounds = 400000 };

__attribute__((noinline)) static void* site_sized(size_t bytes) {
  void* volatile block = malloc(bytes);
  return block;
}

int main(void) {
  unsigned char* blocks[slots] = {0};
  size_t sizes[slots] = {0};
  unsigned random = 1;
  for (int i = 0; i < rounds; i++) {
    random = random * 1103515245u + 12345;
    unsigned at = random >> 8 & (slots - 1);
    if (blocks[at]) {
      for (size_t j = 0; j < sizes[at]; j++)
        if (blocks[at][j] != (unsigned char)at) return 1;
      sdallocx(blocks[at], sizes[at], 0);
    }
    sizes[at] = 8u << (random >> 16 & 7);
    blocks[at] = site_sized(sizes[at]);
    if (i % 16 == 0) {
      size_t room = xallocx(blocks[at], 2 * sizes[at], 0, 0);
      if (room < sizes[at]) return 2;
      if (room >= 2 * sizes[at]) sizes[at] *= 2;
    }
    memset(blocks[at], (int)at, sizes[at]);
  }
  for (int at = 0; at < slots; at++)
    if (blocks[at]) sdallocx(blocks[at], sizes[at], 0);
  puts("done");
}
