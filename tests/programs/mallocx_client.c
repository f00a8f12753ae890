// Allocates, resizes and frees by jemalloc's own functions and by malloc's, in any mixture, and writes to all that it
// is told it may use. What it did is its last line.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((weak)) void* mallocx(size_t, int);
__attribute__((weak)) void* rallocx(void*, size_t, int);
__attribute__((weak)) size_t xallocx(void*, size_t, size_t, int);
__attribute__((weak)) size_t sallocx(const void*, int);
__attribute__((weak)) size_t nallocx(size_t, int);
__attribute__((weak)) void dallocx(void*, int);
__attribute__((weak)) void sdallocx(void*, size_t, int);

enum { slots = 256, rounds = 200000, zeroed = 0x40, no_cache = 0x100 };

static unsigned char* blocks[slots];
static size_t sizes[slots];
static int asked[slots];  // flags: sdallocx must be told the same
static unsigned long allocations, bytes, frees;

static unsigned random_number(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33);
}

static void fail(const char* what, int at) {
  printf("%s, slot %d, %zu bytes\n", what, at, sizes[at]);
  exit(1);
}

static void check(int at, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (blocks[at][i] != (unsigned char)at) fail("other bytes", at);
}

static void got(int at, size_t size, int flags) {
  if (blocks[at] == NULL) fail("no block", at);
  if ((uintptr_t)blocks[at] & (((uintptr_t)1 << (flags & 63)) - 1)) fail("not aligned", at);
  if (sallocx(blocks[at], 0) < size) fail("too small", at);
  sizes[at] = size;
  asked[at] = flags;
  allocations++;
  bytes += size;
}

__attribute__((noinline)) static void site_take(int at) {
  unsigned how = random_number();
  size_t size = 1 + random_number() % (how % 64 == 0 ? 300000 : 600);
  int flags = how >> 8 & 1 ? (int)(how >> 9) % 13 : 0;
  if (how >> 16 & 1) flags |= zeroed;
  if (how >> 17 & 1) flags |= no_cache;
  if (how >> 18 & 1) {
    flags = 0;
    blocks[at] = malloc(size);
  } else {
    blocks[at] = mallocx(size, flags);
    if (nallocx(size, flags) > sallocx(blocks[at], 0)) fail("less than was said before", at);
  }
  got(at, size, flags);
  for (size_t i = 0; flags & zeroed && i < size; i++)
    if (blocks[at][i] != 0) fail("not zeroed", at);
}

__attribute__((noinline)) static void site_resize(int at) {
  unsigned how = random_number();
  size_t before = sallocx(blocks[at], 0), size = 1 + random_number() % 1200;
  int flags = how & 1 ? (int)(how >> 1) % 9 : 0;
  if (how >> 16 & 1) flags |= zeroed;
  if (how >> 17 & 1) flags |= no_cache;
  if (how >> 18 & 1) {
    flags = 0;
    blocks[at] = realloc(blocks[at], size);
  } else {
    blocks[at] = rallocx(blocks[at], size, flags);
  }
  frees++;
  got(at, size, flags);
  check(at, before < size ? before : size);
  for (size_t i = before; flags & zeroed && i < size; i++)
    if (blocks[at][i] != 0) fail("not zeroed behind what was there", at);
}

static void give_back(int at) {
  switch (random_number() % 3) {
    case 0:
      free(blocks[at]);
      break;
    case 1:
      dallocx(blocks[at], random_number() & 1 ? no_cache : 0);
      break;
    case 2:
      sdallocx(blocks[at], sizes[at], asked[at]);
      break;
  }
  blocks[at] = NULL;
  frees++;
}

int main(void) {
  for (int i = 0; i < rounds; i++) {
    int at = random_number() % slots;
    if (blocks[at] == NULL) {
      site_take(at);
    } else {
      check(at, sallocx(blocks[at], 0));
      if (xallocx(blocks[at], sizes[at], 0, asked[at]) < sizes[at]) fail("less than before", at);
      if (random_number() % 2)
        site_resize(at);
      else
        give_back(at);
    }
    if (blocks[at]) memset(blocks[at], at, sallocx(blocks[at], 0));
  }
  for (int at = 0; at < slots; at++)
    if (blocks[at]) give_back(at);
  printf("%lu %lu %lu\n", allocations, bytes, frees);
}
