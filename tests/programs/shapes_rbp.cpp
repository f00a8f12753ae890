// Stacks that differ by rbp: the same return addresses at the same places, under a frame that is found by rbp and lies
// elsewhere. Only code without frame pointers can be so.
#include <alloca.h>

#include "shapes.hpp"

namespace {
constexpr std::size_t area_bytes = 8192;    // that dynamic_frame lays between its frame and its callee's
constexpr std::size_t padded_bytes = 2048;  // more in the frame of padded_caller
}  // namespace

SHAPE_SITE(site_rbp, "rbp_as_register no_rbp main")
SHAPE void rbp_as_register(std::size_t bytes) {
  asm volatile("xorl %%ebp, %%ebp" : : : "rbp");
  site_rbp(bytes);
  asm volatile("xorl %%ebp, %%ebp" : : : "rbp");
}
SHAPE void no_rbp(std::size_t bytes) {
  rbp_as_register(bytes);
  asm volatile("" : : : "memory");
}

// What the area holds is never written, so the words of an earlier stack stay there.
SHAPE void dynamic_frame(std::size_t area, std::size_t bytes) {
  test::escape(alloca(area));
  no_rbp(bytes);
  asm volatile("" : : : "memory");
}
SHAPE void plain_caller(std::size_t area, std::size_t bytes) {
  dynamic_frame(area, bytes);
  asm volatile("" : : : "memory");
}
SHAPE void padded_caller(std::size_t area, std::size_t bytes) {
  char padding[padded_bytes];
  test::escape(padding);
  dynamic_frame(area, bytes);
  test::escape(padding);
}
SHAPE void fixed_frame(std::size_t bytes) {
  char padding[padded_bytes];
  test::escape(padding);
  no_rbp(bytes);
  test::escape(padding);
}

// Somewhere among the areas the callee comes to lie at the same place in both of a pair.
int main() {
  for (std::size_t less = 0; less < padded_bytes + 512; less += 16) {
    plain_caller(area_bytes, 10);
    padded_caller(area_bytes - less, 10);
    fixed_frame(10);
    plain_caller(padded_bytes + 256 - less % 512, 10);
    fixed_frame(10);
  }
  shape::print();
}
