// An allocator that does not know the sizes of its blocks at first, as tcmalloc until its constructor has run.
#include <errno.h>
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static int knows_sizes = 0;
void know_sizes(void);
void know_sizes(void) {
  knows_sizes = 1;
}

size_t malloc_usable_size(void* block) {
  return block == NULL || !knows_sizes ? 0 : (((size_t*)block)[-1] & ~(size_t)7) - 8;  // no block here is a mapping
}
void* malloc(size_t bytes) {
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, size_t bytes) {
  return __libc_realloc(block, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = __libc_memalign(alignment, bytes);
  return *out == NULL ? ENOMEM : 0;
}
void free(void* block) {
  __libc_free(block);
}
