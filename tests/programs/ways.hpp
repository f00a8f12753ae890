// Stacks by number: four ways down at each of six levels, and a block at the end whose size tells the number. A number
// from all_codes on stands for the same way down, and a block from a second place there.
#pragma once

#include "books.hpp"

constexpr unsigned levels = 6, all_codes = 1u << 2 * levels, smallest_bytes = 1000;

static void down(unsigned code, unsigned level = 0);

SITE void site_leaf(unsigned code) {
  void* p = code < all_codes ? malloc(smallest_bytes + code) : nullptr;
  test::escape(&p);
  if (code >= all_codes) p = malloc(smallest_bytes + code % all_codes);
  test::escape(p);
  free(p);
}
#define WAY(digit)                                       \
  SITE void way_##digit(unsigned code, unsigned level) { \
    down(code, level + 1);                               \
    test::escape(&code);                                 \
  }
WAY(0)
WAY(1)
WAY(2)
WAY(3)
static void down(unsigned code, unsigned level) {
  static void (*const ways[])(unsigned, unsigned) = {way_0, way_1, way_2, way_3};
  if (level == levels) return site_leaf(code);
  ways[code >> 2 * (levels - 1 - level) & 3](code, level);
}
