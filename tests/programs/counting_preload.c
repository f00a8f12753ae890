// A second oracle beside valgrind: a preload library that counts every allocation with nothing clever in it.
//
// One lock, one table from address to size, books in a shared file. COUNTING_BOOKS names the file; the process id is
// appended. COUNTING_LOG=1 also writes a line per event to that name with ".log", to find a block that two oracles
// disagree on. Frees of blocks that were not booked, such as the loader's earliest, are counted apart.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

struct books {
  uint64_t allocations, frees, reallocations, temporaries, allocated_bytes, freed_bytes, peak_bytes, foreign_frees;
};

struct entry {
  void* block;
  uint64_t bytes;
};

enum { table_slots = 1 << 24 };
static struct books fallback, *books = &fallback;
static struct entry* table;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static int log_file = -1;
static __thread void* last_block __attribute__((tls_model("initial-exec")));

static void enter(void) {
  while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
  }
}
static void leave(void) {
  atomic_flag_clear_explicit(&lock, memory_order_release);
}

static struct entry* slot_of(void* block) {
  if (!table) {
    table = mmap(NULL, table_slots * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  }
  uint64_t slot = ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 40;
  while (table[slot].block && table[slot].block != block) slot = (slot + 1) & (table_slots - 1);
  return &table[slot];
}

static void note(const char* what, void* block, uint64_t bytes, void* caller) {
  if (log_file < 0) return;
  char line[160];
  int length = snprintf(line, sizeof line, "%s %p %lu from %p\n", what, block, bytes, caller);
  (void)!write(log_file, line, length);
}

static void* booked(void* block, uint64_t bytes, void* caller) {
  if (!block) return block;
  int saved = errno;
  enter();
  struct entry* entry = slot_of(block);
  entry->block = block;
  entry->bytes = bytes + 1;
  books->allocations++;
  books->allocated_bytes += bytes;
  uint64_t live = books->allocated_bytes - books->freed_bytes;
  if (live > books->peak_bytes) books->peak_bytes = live;
  note("alloc", block, bytes, caller);
  leave();
  last_block = block;
  errno = saved;
  return block;
}

static void unbook(void* block, void* caller) {
  if (!block) return;
  int saved = errno;
  enter();
  struct entry* entry = slot_of(block);
  if (entry->block && entry->bytes) {
    books->frees++;
    books->freed_bytes += entry->bytes - 1;
    if (last_block == block) books->temporaries++;
    note("free", block, entry->bytes - 1, caller);
    entry->bytes = 0;  // the key stays: later probes of the table pass over it
  } else {
    books->foreign_frees++;
    note("foreign", block, 0, caller);
  }
  leave();
  if (last_block == block) last_block = NULL;
  errno = saved;
}

#define CALLER __builtin_return_address(0)

void* malloc(size_t bytes) {
  return booked(__libc_malloc(bytes), bytes, CALLER);
}
void* calloc(size_t count, size_t bytes) {
  return booked(__libc_calloc(count, bytes), count * bytes, CALLER);
}
void* memalign(size_t alignment, size_t bytes) {
  return booked(__libc_memalign(alignment, bytes), bytes, CALLER);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return booked(__libc_memalign(alignment, bytes), bytes, CALLER);
}
void* valloc(size_t bytes) {
  return booked(__libc_memalign(4096, bytes), bytes, CALLER);
}
void* pvalloc(size_t bytes) {
  if (bytes > PTRDIFF_MAX) {
    errno = ENOMEM;
    return NULL;
  }
  return booked(__libc_memalign(4096, (bytes + 4095) & ~4095ul), bytes, CALLER);
}

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) || !alignment || (alignment & (alignment - 1))) return EINVAL;
  int saved = errno;
  void* block = booked(__libc_memalign(alignment, bytes), bytes, CALLER);
  errno = saved;
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}

static void* resized(void* block, size_t bytes, void* caller) {
  if (!block) return booked(__libc_malloc(bytes), bytes, caller);
  if (!bytes) {
    unbook(block, caller);
    __libc_free(block);
    return NULL;
  }
  enter();  // held across the call: the old address may go to another thread at once
  struct entry* entry = slot_of(block);
  uint64_t old = entry->block ? entry->bytes : 0;
  leave();
  void* fresh = __libc_realloc(block, bytes);
  if (!fresh) return NULL;
  enter();
  slot_of(block)->bytes = 0;
  if (old) {
    books->frees++;
    books->reallocations++;
    books->freed_bytes += old - 1;
    if (last_block == block) books->temporaries++;
    note("free", block, old - 1, caller);
  } else {
    books->foreign_frees++;
  }
  leave();
  return booked(fresh, bytes, caller);
}
void* realloc(void* block, size_t bytes) {
  return resized(block, bytes, CALLER);
}
void* reallocarray(void* block, size_t count, size_t bytes) {
  size_t product;
  if (__builtin_mul_overflow(count, bytes, &product)) {
    errno = ENOMEM;
    return NULL;
  }
  return resized(block, product, CALLER);
}
void free(void* block) {
  unbook(block, CALLER);
  __libc_free(block);
}

static void open_books(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", name, getpid());
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof *books)) return;
  struct books* shared = mmap(NULL, sizeof *books, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) return;
  enter();
  *shared = *books;
  books = shared;
  leave();
  if (getenv("COUNTING_LOG")) {
    strcat(path, ".log");
    log_file = fcntl(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), F_DUPFD_CLOEXEC, 200);
  }
}

// A child counts for itself, to nowhere: this oracle is for one process.
static void child(void) {
  fallback = *books;
  books = &fallback;
  log_file = -1;
  leave();
}

__attribute__((constructor(101))) static void start(void) {
  const char* name = getenv("COUNTING_BOOKS");
  if (name) open_books(name);
  pthread_atfork(enter, leave, child);
}
