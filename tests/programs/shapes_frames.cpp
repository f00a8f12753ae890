// Frames of every build: alloca, variable arrays, realigned stacks, tail calls, calls through the PLT, many arguments,
// a frame found by rbx, recursion 100,000 deep. Argument: the depth of the recursion.
#include <alloca.h>
#include <stdarg.h>

#include <algorithm>
#include <vector>

#include "shapes.hpp"

SHAPE_SITE(site_alloca, "with_alloca frames main")
SHAPE void with_alloca(std::size_t bytes) {
  auto* memory = static_cast<char*>(alloca(bytes));
  std::memset(memory, 1, bytes);
  test::escape(memory);
  site_alloca(bytes);
  if (bytes > 100) {
    auto* more = static_cast<char*>(alloca(bytes / 2));
    test::escape(more);
    site_alloca(bytes / 2);
  }
  test::escape(memory);
}

SHAPE_SITE(site_realigned, "realigned frames main")
SHAPE void realigned(std::size_t bytes) {
  struct alignas(64) wide {
    double values[16];
  } here;
  std::memset(&here, 0, sizeof here);
  test::escape(&here);
  CHECK(test::aligned(&here, 64));
  site_realigned(bytes);
  test::escape(&here);
}

SHAPE_SITE(site_realigned_more, "realigned_alloca realigned_outer frames main")
SHAPE void realigned_alloca(std::size_t bytes) {
  alignas(256) char here[256] = {};
  auto* memory = static_cast<char*>(alloca(bytes + 1));
  test::escape(here);
  test::escape(memory);
  site_realigned_more(bytes);
  test::escape(here);
}
SHAPE void realigned_outer(std::size_t bytes) {
  alignas(128) char here[128] = {};
  test::escape(here);
  realigned_alloca(bytes);
  test::escape(here);
}

#ifdef __x86_64__
SHAPE_SITE(site_vector, "with_vectors frames main")
typedef double vector_of_4 __attribute__((vector_size(32)));
SHAPE [[gnu::target("avx")]] void with_vectors(std::size_t bytes) {
  vector_of_4 a = {1, 2, 3, static_cast<double>(bytes)};
  test::escape(&a);
  site_vector(bytes);
  a = a * a;
  test::escape(&a);
}
#endif

#ifdef __x86_64__
// A frame that is found by a register that no walk from outside knows; from two places in turn, such that its callee
// comes to lie at the same place, and what the first left of the frame stays there.
SHAPE_SITE(site_by_register, "found_by_rbx by_register frames main")
SHAPE [[gnu::naked]] void found_by_rbx(void (*)(std::size_t), std::size_t) {
  asm("push %rbx\n\t"
      ".cfi_def_cfa_offset 16\n\t"
      ".cfi_offset %rbx, -16\n\t"
      "mov %rsp, %rbx\n\t"
      ".cfi_def_cfa_register %rbx\n\t"
      "and $-256, %rsp\n\t"
      "mov %rdi, %rax\n\t"
      "mov %rsi, %rdi\n\t"
      "call *%rax\n\t"
      "mov %rbx, %rsp\n\t"
      ".cfi_def_cfa_register %rsp\n\t"
      "pop %rbx\n\t"
      ".cfi_restore %rbx\n\t"
      ".cfi_def_cfa_offset 8\n\t"
      "ret");
}
SHAPE void by_register(std::size_t bytes) {
  asm volatile("" : : "r"(alloca(bytes)));  // never written
  found_by_rbx(site_by_register, bytes);
  asm volatile("" : : "r"(alloca(16)));
  found_by_rbx(site_by_register, bytes);
  asm volatile("" : : : "memory");
}
#endif

// The frame of tail_caller is gone (with optimisation): its caller must show all the same.
SHAPE_SITE(site_tail, "frames main")
SHAPE void tail_caller(std::size_t bytes) {
  site_tail(bytes);
}

SHAPE_SITE(site_arguments, "many_arguments frames main")
SHAPE void many_arguments(int a, int b, int c, int d, int e, int f, std::size_t g, std::size_t h, std::size_t i, ...) {
  va_list list;
  va_start(list, i);
  site_arguments(static_cast<std::size_t>(a + b + c + d + e + f + va_arg(list, int)) + g + h + i);
  va_end(list);
}

// Called back from a library that has no debug information, through the PLT.
SHAPE_SITE(site_callback, "compare frames main")
SHAPE int compare(const void* a, const void* b) {
  site_callback(21);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

SHAPE_SITE(site_lambda, "frames main")

SHAPE_SITE(site_deep, "recursion frames main")
SHAPE std::size_t recursion(std::size_t depth) {
  volatile char some[8] = {};
  if (depth % 1000 == 0) site_deep(depth % 77);
  std::size_t result = depth == 0 ? 0 : recursion(depth - 1) + static_cast<std::size_t>(some[0]) + 1;
  if (depth % 997 == 0) site_deep(depth % 77);
  return result;
}

SHAPE void frames(std::size_t deep) {
  for (std::size_t i = 0; i < 300; ++i) {
    with_alloca(i);
    realigned(i);
    realigned_outer(i);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) with_vectors(i);
    by_register(i);
#endif
    tail_caller(i);
    many_arguments(1, 2, 3, 4, 5, 6, i, i, i, 7);
    int numbers[] = {3, 1, 2, static_cast<int>(i)};
    std::qsort(numbers, 4, sizeof *numbers, compare);
    std::vector<int> many(numbers, numbers + 4);
    std::for_each(many.begin(), many.end(), [i](int) { site_lambda(i); });
  }
  CHECK(recursion(deep) == deep);
  asm volatile("" : : : "memory");
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  frames(std::strtoull(argv[1], nullptr, 10));
  shape::print();
}
