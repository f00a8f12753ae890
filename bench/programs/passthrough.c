// The least that a preloaded malloc wrapper can cost: it looks up the next malloc family at the first call
// (libraries before us in the order of initialisation allocate too) and passes every call on.
// Built a second time with EXTRA_BYTES=8, it also asks for eight bytes more: what a tag at the end of every block
// costs in larger blocks and cache lines, before a single byte is counted.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef EXTRA_BYTES
#define EXTRA_BYTES 0
#endif

static void* (*next_malloc)(size_t);
static void* (*next_calloc)(size_t, size_t);
static void* (*next_realloc)(void*, size_t);
static void (*next_free)(void*);
static int (*next_posix_memalign)(void**, size_t, size_t);
static void* (*next_aligned_alloc)(size_t, size_t);
static void* (*next_memalign)(size_t, size_t);

// The lookup itself may allocate; such blocks come from here and are never given back.
static char early[4096];
static size_t early_used;

static void* early_block(size_t bytes) {
  const size_t rounded = (bytes + 15) & ~(size_t)15;
  if (rounded > sizeof early - early_used) return NULL;
  void* block = early + early_used;
  early_used += rounded;
  return block;
}

static int is_early(const void* block) {
  return (const char*)block >= early && (const char*)block < early + sizeof early;
}

// Returns 0 while a lookup is under way.
__attribute__((cold, noinline)) static int look_up(void) {
  static int under_way;
  if (under_way) return 0;
  under_way = 1;
  next_free = dlsym(RTLD_NEXT, "free");
  next_calloc = dlsym(RTLD_NEXT, "calloc");
  next_realloc = dlsym(RTLD_NEXT, "realloc");
  next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
  next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
  next_memalign = dlsym(RTLD_NEXT, "memalign");
  next_malloc = dlsym(RTLD_NEXT, "malloc");
  return 1;
}

static int ready(void) {
  return __builtin_expect(next_malloc != NULL, 1) || look_up();
}

static size_t padded(size_t bytes) {
  return bytes > SIZE_MAX - EXTRA_BYTES ? bytes : bytes + EXTRA_BYTES;
}

void* malloc(size_t bytes) {
  return ready() ? next_malloc(padded(bytes)) : early_block(bytes);
}

void free(void* block) {
  if (block && !is_early(block) && ready()) next_free(block);
}

void* calloc(size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return NULL;
  }
  return ready() ? next_calloc(1, padded(total)) : early_block(total);
}

void* realloc(void* block, size_t bytes) {
  if (__builtin_expect(is_early(block), 0)) {
    void* moved = malloc(bytes);
    const size_t rest = (size_t)(early + sizeof early - (char*)block);
    if (moved) memcpy(moved, block, bytes < rest ? bytes : rest);
    return moved;
  }
  if (!ready()) return early_block(bytes);
  return next_realloc(block, block && bytes == 0 ? 0 : padded(bytes));
}

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  return ready() ? next_posix_memalign(result, alignment, padded(bytes)) : ENOMEM;
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return ready() ? next_aligned_alloc(alignment, padded(bytes)) : NULL;
}

void* memalign(size_t alignment, size_t bytes) {
  return ready() ? next_memalign(alignment, padded(bytes)) : NULL;
}
