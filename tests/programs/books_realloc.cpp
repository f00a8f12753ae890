// realloc in every shape: from nothing, to nothing, in place, moving, across the borders of 64 KiB and 128 KiB,
// failing.
#include <errno.h>
#include <malloc.h>

#include "books.hpp"

static test::books all;

static void release(const char* site, void* block, std::size_t bytes) {
  all.gave(site, block, bytes);
  free(block);
}

// One free of the old size, one allocation of the new, one reallocation, booked to `to`.
static void* resize(const char* from, const char* to, void* block, std::size_t old_bytes, std::size_t bytes) {
  std::size_t kept = old_bytes < bytes ? old_bytes : bytes;
  test::fill(block, old_bytes, 5);
  all.gave(from, block, old_bytes);
  void* fresh = realloc(block, bytes);
  CHECK(fresh && test::aligned(fresh, 16) && malloc_usable_size(fresh) >= bytes);
  CHECK(test::holds(fresh, kept, 5));
  all.took(to, fresh, bytes);
  all.at(to).reallocations++;
  return fresh;
}

static const std::size_t steps[] = {1,     24,    25,     40,     56,     57,     1000,    1032,
                                    1033,  65000, 65527,  65271,  65272,  65280,  65528,   65536,
                                    65537, 70000, 131000, 131048, 131072, 131073, 1000000, 5 << 20};

SITE void site_pairs() {  // every size to every other
  for (std::size_t from : steps) {
    for (std::size_t to : steps) {
      void* p = malloc(from);
      all.took("site_pairs", p, from);
      p = resize("site_pairs", "site_pairs", p, from, to);
      release("site_pairs", p, to);
    }
  }
}

SITE void site_grow() {  // by single bytes: mostly in place
  void* p = malloc(1);
  all.took("site_grow", p, 1);
  for (std::size_t n = 1; n < 3000; ++n) p = resize("site_grow", "site_grow", p, n, n + 1);
  for (std::size_t n = 3000; n > 1; --n) p = resize("site_grow", "site_grow", p, n, n - 1);
  release("site_grow", p, 1);
}

SITE void site_moving() {  // a neighbour stands in the way
  std::size_t n = 100;
  void* p = malloc(n);
  all.took("site_moving", p, n);
  void* blocks[20];
  for (void*& fence : blocks) {
    fence = malloc(32);
    all.took("site_moving", fence, 32);
    p = resize("site_moving", "site_moving", p, n, n * 2 - 30);
    n = n * 2 - 30;
  }
  for (void* fence : blocks) release("site_moving", fence, 32);
  release("site_moving", p, n);
}

SITE void* site_origin(std::size_t bytes) {
  void* p = malloc(bytes);
  all.took("site_origin", p, bytes);
  return p;
}
SITE void site_elsewhere() {  // resized by another function: the old account is credited
  for (std::size_t n : steps)
    release("site_elsewhere", resize("site_origin", "site_elsewhere", site_origin(n), n, n + 9), n + 9);
}

SITE void site_to_zero() {  // glibc frees and returns NULL
  for (std::size_t n : steps) {
    void* p = malloc(n);
    all.took("site_to_zero", p, n);
    all.gave("site_to_zero", p, n);
    CHECK(realloc(p, 0) == nullptr);
    p = reallocarray(nullptr, n, 2);
    all.took("site_to_zero", p, n * 2);
    all.gave("site_to_zero", p, n * 2);
    CHECK(reallocarray(p, 0, 5) == nullptr);
  }
}

SITE void site_from_null() {
  void* p = realloc(nullptr, 0);
  CHECK(p);
  all.took("site_from_null", p, 0);
  p = resize("site_from_null", "site_from_null", p, 0, 17);
  release("site_from_null", p, 17);
}

SITE void site_failing() {  // the block stays, with what it holds, and stays booked
  volatile std::size_t too_much = PTRDIFF_MAX;
  for (std::size_t n : steps) {
    void* p = malloc(n);
    all.took("site_failing", p, n);
    test::fill(p, n, 8);
    errno = 0;
    CHECK(!realloc(p, too_much) && errno == ENOMEM && test::holds(p, n, 8));
    errno = 0;
    CHECK(!reallocarray(p, too_much, 4) && errno == ENOMEM && test::holds(p, n, 8));
    p = resize("site_failing", "site_failing", p, n, n + 100);
    release("site_failing", p, n + 100);
  }
}

SITE void site_aligned() {  // realloc keeps what is in the block, not its alignment
  for (std::size_t alignment = 32; alignment <= 2 << 20; alignment *= 4) {
    void* p = aligned_alloc(alignment, 1000);
    CHECK(test::aligned(p, alignment));
    all.took("site_aligned", p, 1000);
    p = resize("site_aligned", "site_aligned", p, 1000, 200);
    p = resize("site_aligned", "site_aligned", p, 200, 200000);
    release("site_aligned", p, 200000);
  }
}

SITE void site_array() {
  void* p = reallocarray(nullptr, 10, 10);
  all.took("site_array", p, 100);
  for (std::size_t n = 11; n < 200; ++n) {
    test::fill(p, (n - 1) * 10, 4);
    all.gave("site_array", p, (n - 1) * 10);
    p = reallocarray(p, n, 10);
    CHECK(p && test::holds(p, (n - 1) * 10, 4));
    all.took("site_array", p, n * 10);
    all.at("site_array").reallocations++;
  }
  release("site_array", p, 1990);
}

SITE void site_kept() {  // lives at the end, after a resize
  void* p = malloc(64);
  all.took("site_kept", p, 64);
  test::escape(resize("site_kept", "site_kept", p, 64, 7777));
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  site_pairs();
  site_grow();
  site_moving();
  site_elsewhere();
  site_to_zero();
  site_from_null();
  site_failing();
  site_aligned();
  site_array();
  site_kept();
  test::write_books(argv[1], all);
}
