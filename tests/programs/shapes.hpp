// What the shapes_ programs share: allocations from named functions, and a line for each that says which functions its
// stacks must show, in this order from the allocation outward (others may stand in between):
//   {"site": NAME, "allocations": N, "bytes": N, "within": [NAME, ...]}
#pragma once

#include "books.hpp"

// A function that stays one function, with its own frame and name.
#define SHAPE extern "C" [[gnu::noinline, gnu::noipa]]

namespace shape {

struct expected {
  const char* site;
  const char* within;  // names, separated by blanks
  unsigned long allocations, bytes;
};
inline expected all[64];

inline void take(const char* site, const char* within, std::size_t bytes) {
  for (expected& e : all) {
    if (!e.site) e = {site, within, 0, 0};
    if (std::strcmp(e.site, site)) continue;
    __atomic_add_fetch(&e.allocations, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&e.bytes, bytes, __ATOMIC_RELAXED);
    break;
  }
}

inline void print() {
  for (const expected& e : all) {
    if (!e.site) break;
    test::put(1, "{\"site\": \"%s\", \"allocations\": %lu, \"bytes\": %lu, \"within\": [", e.site, e.allocations,
              e.bytes);
    const char* separator = "";
    for (const char* name = e.within; *name;) {
      std::size_t length = std::strcspn(name, " ");
      test::put(1, "%s\"%.*s\"", separator, static_cast<int>(length), name);
      separator = ", ";
      name += length + (name[length] == ' ');
    }
    test::put(1, "]}\n");
  }
}

}  // namespace shape

// A site: a function that allocates, keeps nothing, and is no tail call.
#define SHAPE_SITE(name, within)       \
  SHAPE void name(std::size_t bytes) { \
    void* p = malloc(bytes);           \
    CHECK(p);                          \
    shape::take(#name, within, bytes); \
    test::escape(p);                   \
    free(p);                           \
    asm volatile("" : : : "memory");   \
  }
