// To be preloaded behind the probe: an allocator that cannot tell how large a block is, and whose words in front of a
// block look like those of glibc. It ends the program where somebody wrote over one.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { arena_bytes = 64 << 20, kind = 0x101 };

struct head {
  size_t bytes;
  uint64_t kind;
};

static char arena[arena_bytes] __attribute__((aligned(4096)));
static size_t used;

static struct head* head_of(void* block) {
  struct head* const head = (struct head*)block - 1;
  if (head->kind != kind || head->bytes > arena_bytes) abort();
  return head;
}

static void* take(size_t alignment, size_t bytes) {
  const size_t room = ((bytes + 15) & ~(size_t)15) + alignment + sizeof(struct head);
  const size_t end = __atomic_add_fetch(&used, room, __ATOMIC_RELAXED);
  if (end > arena_bytes) return NULL;
  const size_t at = arena_bytes - end;  // the next block is in front of it
  char* const block =
      (char*)(((uintptr_t)arena + at + sizeof(struct head) + alignment - 1) & ~(uintptr_t)(alignment - 1));
  *((struct head*)block - 1) = (struct head){bytes, kind};
  return block;
}

void know_sizes(void);
void know_sizes(void) {}  // early_blocks calls it

void* malloc(size_t bytes) {
  return take(16, bytes);
}
void free(void* block) {
  if (block) memset(block, 0xee, head_of(block)->bytes);
}
void* calloc(size_t count, size_t each) {
  return take(16, count * each);
}
void* realloc(void* block, size_t bytes) {
  void* const fresh = take(16, bytes);
  if (!block || !fresh) return fresh;
  const size_t old = head_of(block)->bytes;
  return memcpy(fresh, block, old < bytes ? old : bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return take(alignment < 16 ? 16 : alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out ? 0 : 12;
}
