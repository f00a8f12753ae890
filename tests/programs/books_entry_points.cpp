// Every way into the malloc family, sizes from 0 to 4 GiB, alignments up to 2 MiB.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>

#include "books.hpp"

static test::books all;

static void release(const char* site, void* block, std::size_t bytes) {
  all.gave(site, block, bytes);
  free(block);
}

static const std::size_t sizes[] = {0,      1,      2,      7,      8,      9,       15,      16,    17,    23,
                                    24,     25,     31,     32,     33,     40,      56,      63,    64,    65,
                                    127,    128,    1000,   1024,   1032,   1033,    4095,    4096,  4097,  65263,
                                    65271,  65272,  65279,  65280,  65519,  65527,   65528,   65535, 65536, 65537,
                                    131047, 131048, 131056, 131072, 131073, 1 << 20, 10 << 20};
static const std::size_t huge_sizes[] = {std::size_t{1} << 30, (std::size_t{1} << 31) - 1, std::size_t{1} << 31,
                                         (std::size_t{1} << 32) - 1, std::size_t{1} << 32};

static void used(void* block, std::size_t bytes, std::size_t alignment) {
  CHECK(block && test::aligned(block, alignment));
  std::size_t usable = malloc_usable_size(block);
  CHECK(usable >= bytes);
  test::fill(block, usable, 3);
  CHECK(test::holds(block, usable, 3));
}

SITE void site_malloc(std::size_t bytes) {
  void* p = malloc(bytes);
  all.took("site_malloc", p, bytes);
  used(p, bytes, 16);
  release("site_malloc", p, bytes);
}

SITE void site_calloc(std::size_t count, std::size_t each) {
  void* p = calloc(count, each);
  all.took("site_calloc", p, count * each);
  CHECK(p);
  for (std::size_t i = 0; i < count * each; ++i) CHECK(static_cast<volatile char*>(p)[i] == 0);
  used(p, count * each, 16);
  release("site_calloc", p, count * each);
}

SITE void site_realloc(std::size_t bytes) {
  void* p = realloc(nullptr, bytes);
  all.took("site_realloc", p, bytes);
  used(p, bytes, 16);
  release("site_realloc", p, bytes);
}

SITE void site_reallocarray(std::size_t count, std::size_t each) {
  void* p = reallocarray(nullptr, count, each);
  all.took("site_reallocarray", p, count * each);
  used(p, count * each, 16);
  release("site_reallocarray", p, count * each);
}

SITE void site_posix_memalign(std::size_t alignment, std::size_t bytes) {
  void* p = nullptr;
  errno = 77;
  CHECK(posix_memalign(&p, alignment, bytes) == 0 && errno == 77);
  all.took("site_posix_memalign", p, bytes);
  used(p, bytes, alignment);
  release("site_posix_memalign", p, bytes);
}

SITE void site_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* p = aligned_alloc(alignment, bytes);
  all.took("site_aligned_alloc", p, bytes);
  used(p, bytes, alignment);
  release("site_aligned_alloc", p, bytes);
}

SITE void site_memalign(std::size_t alignment, std::size_t bytes) {
  void* p = memalign(alignment, bytes);
  all.took("site_memalign", p, bytes);
  used(p, bytes, alignment);
  release("site_memalign", p, bytes);
}

SITE void site_valloc(std::size_t bytes) {
  void* p = valloc(bytes);
  all.took("site_valloc", p, bytes);
  used(p, bytes, 4096);
  release("site_valloc", p, bytes);
}

// pvalloc rounds up to whole pages; what was requested is what was passed.
SITE void site_pvalloc(std::size_t bytes) {
  void* p = pvalloc(bytes);
  all.took("site_pvalloc", p, bytes);
  used(p, bytes, 4096);
  CHECK(malloc_usable_size(p) >= (bytes + 4095) / 4096 * 4096);
  release("site_pvalloc", p, bytes);
}

SITE bool site_huge(std::size_t bytes) {
  void* p = malloc(bytes);
  if (!p) return false;
  all.took("site_huge", p, bytes);
  CHECK(malloc_usable_size(p) >= bytes);
  static_cast<volatile char*>(p)[bytes - 1] = 1;
  release("site_huge", p, bytes);
  return true;
}

// Every one fails, tells so in its own way, and is not counted.
SITE void site_failing() {
  volatile std::size_t too_much = PTRDIFF_MAX, overflow = SIZE_MAX / 2;
  errno = 0;
  CHECK(!malloc(too_much) && errno == ENOMEM);
  errno = 0;
  CHECK(!malloc(SIZE_MAX - too_much % 2) && errno == ENOMEM);
  errno = 0;
  CHECK(!calloc(overflow, 3) && errno == ENOMEM);
  errno = 0;
  CHECK(!calloc(3, overflow) && errno == ENOMEM);
  errno = 0;
  CHECK(!realloc(nullptr, too_much) && errno == ENOMEM);
  errno = 0;
  CHECK(!reallocarray(nullptr, overflow, 3) && errno == ENOMEM);
  void* untouched = &all;
  CHECK(posix_memalign(&untouched, 64, too_much) == ENOMEM && untouched == &all);
  CHECK(posix_memalign(&untouched, 3, 8) == EINVAL && untouched == &all);
  CHECK(posix_memalign(&untouched, 4, 8) == EINVAL && untouched == &all);
  errno = 0;
  CHECK(!aligned_alloc(64, too_much) && errno == ENOMEM);
  errno = 0;
  CHECK(!memalign(4096, too_much) && errno == ENOMEM);
  errno = 0;
  CHECK(!valloc(too_much) && errno == ENOMEM);
  errno = 0;
  CHECK(!pvalloc(SIZE_MAX - 7) && errno == ENOMEM);
}

// The sized frees of C23, where the C library or the profiler has them.
SITE void site_sized_free() {
  auto* free_sized = reinterpret_cast<void (*)(void*, std::size_t)>(dlsym(RTLD_DEFAULT, "free_sized"));
  auto* free_aligned_sized =
      reinterpret_cast<void (*)(void*, std::size_t, std::size_t)>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
  auto* cfree = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "cfree"));
  for (std::size_t bytes : sizes) {
    void* p = malloc(bytes);
    all.took("site_sized_free", p, bytes);
    all.gave("site_sized_free", p, bytes);
    free_sized ? free_sized(p, bytes) : free(p);
    p = aligned_alloc(128, bytes);
    all.took("site_sized_free", p, bytes);
    all.gave("site_sized_free", p, bytes);
    free_aligned_sized ? free_aligned_sized(p, 128, bytes) : free(p);
    p = calloc(1, bytes);
    all.took("site_sized_free", p, bytes);
    all.gave("site_sized_free", p, bytes);
    cfree ? cfree(p) : free(p);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  (void)dlerror();
  for (std::size_t bytes : sizes) {
    site_malloc(bytes);
    site_calloc(1, bytes);
    site_calloc(bytes, 1);
    site_calloc(bytes, 3);
    site_realloc(bytes);
    site_reallocarray(bytes, 2);
    site_valloc(bytes);
    site_pvalloc(bytes);
    for (std::size_t alignment = 8; alignment <= 2 << 20; alignment *= 2) {
      if (bytes > 1 << 17 && alignment > 64 && alignment < 1 << 20) continue;
      site_posix_memalign(alignment, bytes);
      site_aligned_alloc(alignment, bytes);
      site_memalign(alignment, bytes);
    }
  }
  site_calloc(0, 0);
  site_calloc(std::size_t{1} << 16, std::size_t{1} << 4);
  int huge = 0;
  for (std::size_t bytes : huge_sizes) huge += site_huge(bytes);
  site_failing();
  site_sized_free();
  for (int i = 0; i < 100; ++i) free(nullptr);
  CHECK(malloc_usable_size(nullptr) == 0);
  test::write_books(argv[1], all);
  test::put(1, "%d huge blocks\n", huge);
}
