// Allocations around main: constructors, static objects, dlsym and dlopen early, atexit, destructors. The books are
// written by the program's last destructor; what the library beside it does is known and added here.
#include <dlfcn.h>

#include "books.hpp"

extern "C" void* books_library_block(std::size_t bytes);

static test::books all;
static const char* books_path;

SITE void* site_take(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  all.took("site_take", p, bytes);
  return p;
}
static void release(void* block, std::size_t bytes) {
  all.gave("site_take", block, bytes);
  free(block);
}

static void* early;
[[gnu::constructor(101)]] static void first(int argc, char** argv) {
  CHECK(argc == 2);
  books_path = argv[1];
  CHECK(dlsym(RTLD_DEFAULT, "malloc") != nullptr);
  early = site_take(101);
  release(site_take(1), 1);
}

struct static_object {
  void* block;
  std::size_t bytes;
  explicit static_object(std::size_t n) : block(site_take(n)), bytes(n) {}
  ~static_object() {
    release(block, bytes);
    test::escape(site_take(5));  // lives past everything
  }
};
static static_object one(2001), two(70001);

static void* at_exit_block;
static void at_exit() {
  release(at_exit_block, 301);
  release(site_take(302), 302);
}

[[gnu::destructor(101)]] static void last() {
  release(early, 101);
  // The library: 111 and 11 bytes when it was loaded, 77 for main; its destructor runs after this one.
  auto& b = all.at("site_library");
  b.allocations = 4;
  b.allocated_bytes = 111 + 11 + 77 + 1111;
  b.frees = 3;
  b.freed_bytes = 111 + 11 + 77;
  b.temporaries = 2;
  test::write_books(books_path, all, {.emergency_pool = true});
}

int main() {
  at_exit_block = site_take(301);
  CHECK(!std::atexit(at_exit));
  static static_object late(401);
  free(books_library_block(77));
  all.last = nullptr;  // this thread has allocated since
}
