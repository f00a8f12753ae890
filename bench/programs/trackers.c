// What others do for memory per task, as preloaded wrappers, to be measured beside ours. Each thread is a task of its
// own, which is the best case for both: TRACKER_SHARED=1 in the environment makes all threads one task.
//
// MODEL 1, TaskStatsAlloc (RisingWave, 2022): a header before every block names the task, and its counter is an atomic
//   that every allocation and every free changes. Its Rust allocator is told the size at a free; free() is not, so here
//   the header holds that as well: 16 bytes, which the alignment of malloc takes in any case.
// MODEL 2, MemoryTracker (ClickHouse): allocations and frees change a plain counter of the thread by what the allocator
//   says the block's size is; beyond 4 MiB it is added to the atomics of thread, query, user and server, each with a
//   peak. A free counts for whoever frees, and the counter is off by up to 4 MiB a thread.
#define malloc pass_malloc
#define calloc pass_calloc
#define realloc pass_realloc
#define free pass_free
#define posix_memalign pass_posix_memalign
#define aligned_alloc pass_aligned_alloc
#define memalign pass_memalign
#include "passthrough.c"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef posix_memalign
#undef aligned_alloc
#undef memalign

#include <malloc.h>
#include <stdlib.h>

#define FAST __attribute__((always_inline)) static inline

struct level {
  _Alignas(64) long bytes;
  long peak;
  struct level* above;
};

static struct level server, user = {.above = &server}, query = {.above = &user}, shared_task = {.above = &query};
static __thread struct level own_task = {.above = &query};
static __thread struct level* current __attribute__((tls_model("initial-exec")));

__attribute__((cold, noinline)) static struct level* first_task(void) {
  return current = getenv("TRACKER_SHARED") ? &shared_task : &own_task;
}

FAST struct level* task(void) {
  return __builtin_expect(current != NULL, 1) ? current : first_task();
}

#if MODEL == 1

struct header {
  struct level* of;
  size_t bytes;  // and in the top byte, the logarithm of the distance to the block's start
};
enum { usual_shift = 4 };

FAST void* begin(void* raw, size_t bytes, unsigned shift) {
  if (raw == NULL) return NULL;
  void* block = (char*)raw + ((size_t)1 << shift);
  struct header* header = (struct header*)block - 1;
  header->of = task();
  header->bytes = bytes | (size_t)shift << 56;
  __atomic_fetch_add(&header->of->bytes, (long)bytes, __ATOMIC_RELAXED);
  return block;
}
FAST size_t bytes_of(const void* block) {
  return ((const struct header*)block - 1)->bytes & (((size_t)1 << 56) - 1);
}
FAST void* end(void* block) {
  struct header* header = (struct header*)block - 1;
  __atomic_fetch_sub(&header->of->bytes, (long)bytes_of(block), __ATOMIC_RELAXED);
  return (char*)block - ((size_t)1 << (header->bytes >> 56));
}

static unsigned shift_of(size_t alignment) {
  const unsigned shift = (unsigned)__builtin_ctzl(alignment);
  return shift < usual_shift ? usual_shift : shift;
}

void* malloc(size_t bytes) {
  return begin(pass_malloc(bytes + sizeof(struct header)), bytes, usual_shift);
}
void free(void* block) {
  if (block != NULL) pass_free(end(block));
}
void* calloc(size_t count, size_t each) {
  return begin(pass_calloc(1, count * each + sizeof(struct header)), count * each, usual_shift);
}
void* realloc(void* block, size_t bytes) {
  void* moved = malloc(bytes);
  if (block == NULL || moved == NULL) return moved;
  memcpy(moved, block, bytes < bytes_of(block) ? bytes : bytes_of(block));
  free(block);
  return moved;
}
void* memalign(size_t alignment, size_t bytes) {
  const unsigned shift = shift_of(alignment);
  return begin(pass_memalign(alignment, bytes + ((size_t)1 << shift)), bytes, shift);
}

#else

enum { most_untracked = 4 << 20 };
static __thread long untracked __attribute__((tls_model("initial-exec")));

__attribute__((cold, noinline)) static void flush(void) {
  const long moved = untracked;
  untracked = 0;
  for (struct level* at = task(); at != NULL; at = at->above) {
    const long now = __atomic_add_fetch(&at->bytes, moved, __ATOMIC_RELAXED);
    if (now > __atomic_load_n(&at->peak, __ATOMIC_RELAXED)) __atomic_store_n(&at->peak, now, __ATOMIC_RELAXED);
  }
}
FAST void track(long bytes) {
  untracked += bytes;
  if (__builtin_expect(untracked > most_untracked || untracked < -most_untracked, 0)) flush();
}
FAST void* begin(void* block) {
  if (block != NULL) track((long)malloc_usable_size(block));
  return block;
}

void* malloc(size_t bytes) {
  return begin(pass_malloc(bytes));
}
void free(void* block) {
  if (block == NULL) return;
  track(-(long)malloc_usable_size(block));
  pass_free(block);
}
void* calloc(size_t count, size_t each) {
  return begin(pass_calloc(count, each));
}
void* realloc(void* block, size_t bytes) {
  if (block != NULL) track(-(long)malloc_usable_size(block));
  return begin(pass_realloc(block, bytes));
}
void* memalign(size_t alignment, size_t bytes) {
  return begin(pass_memalign(alignment, bytes));
}

#endif

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result != NULL ? 0 : ENOMEM;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
