// To be preloaded behind the probe: an allocator that signal handlers may use. Memory comes from a ring and is reused
// when the ring has gone round; freeing does nothing. For programs that keep few blocks for a short time.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ring_bytes = 256 << 20, header_bytes = 16 };
static char ring[ring_bytes] __attribute__((aligned(4096)));
static size_t next_byte;

static void* take(size_t alignment, size_t bytes) {
  const size_t room = ((bytes + 15) & ~(size_t)15) + alignment + header_bytes;
  size_t at;
  do {
    at = __atomic_fetch_add(&next_byte, room, __ATOMIC_RELAXED) % ring_bytes;
  } while (at + room > ring_bytes);
  char* block = (char*)(((uintptr_t)ring + at + header_bytes + alignment - 1) & ~(uintptr_t)(alignment - 1));
  memcpy(block - sizeof bytes, &bytes, sizeof bytes);
  return block;
}

size_t malloc_usable_size(void* block) {
  size_t bytes = 0;
  if (block) memcpy(&bytes, (char*)block - sizeof bytes, sizeof bytes);
  return bytes;
}
void* malloc(size_t bytes) {
  return take(16, bytes);
}
void free(void* block) {
  (void)block;
}
void* calloc(size_t count, size_t each) {
  return memset(take(16, count * each), 0, count * each);
}
void* memalign(size_t alignment, size_t bytes) {
  return take(alignment < 16 ? 16 : alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return 0;
}
void* realloc(void* block, size_t bytes) {
  void* fresh = take(16, bytes);
  const size_t old = malloc_usable_size(block);
  if (block) memcpy(fresh, block, old < bytes ? old : bytes);
  return fresh;
}
