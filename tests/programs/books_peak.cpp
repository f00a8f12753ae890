// One thread; the peak, and what each site held at it, are known to the byte.
#include "books.hpp"

static test::books all;

static void release(const char* site, void* block, std::size_t bytes) {
  all.gave(site, block, bytes);
  free(block);
}

#define MAKER(name)                    \
  SITE void* name(std::size_t bytes) { \
    void* p = malloc(bytes);           \
    CHECK(p);                          \
    all.took(#name, p, bytes);         \
    return p;                          \
  }
MAKER(site_early)    // gone before the peak
MAKER(site_base)     // there all the time
MAKER(site_hill)     // at every peak, with changing size
MAKER(site_late)     // only after the peak
MAKER(site_flicker)  // temporaries on the way

int main(int argc, char** argv) {
  CHECK(argc == 2);
  static void* blocks[4096];
  for (std::size_t i = 0; i < 100; ++i) blocks[i] = site_early(1000 + i);
  for (std::size_t i = 0; i < 100; ++i) release("site_early", blocks[i], 1000 + i);
  for (std::size_t i = 0; i < 50; ++i) site_base(i * 3);
  static const std::size_t heights[] = {10, 300, 20, 4000, 3999, 40, 1200};
  for (std::size_t height : heights) {
    for (std::size_t i = 0; i < height; ++i) {
      blocks[i] = site_hill(64 + i % 200);
      release("site_flicker", site_flicker(i % 64), i % 64);
    }
    for (std::size_t i = height; i-- > 0;) release("site_hill", blocks[i], 64 + i % 200);
  }
  for (std::size_t i = 0; i < 500; ++i) site_late(128);
  test::write_books(argv[1], all);
}
