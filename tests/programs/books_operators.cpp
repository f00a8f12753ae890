// Every form of operator new and operator delete.
#include <cerrno>
#include <new>

#include "books.hpp"

static test::books all;

template <class Delete>
static void release(const char* site, void* block, std::size_t bytes, Delete how) {
  all.gave(site, block, bytes);
  how(block);
}

static void used(void* block, std::size_t bytes, std::size_t alignment) {
  CHECK(block && test::aligned(block, alignment));
  test::fill(block, bytes, 9);
  CHECK(test::holds(block, bytes, 9));
}

static const std::size_t sizes[] = {0, 1, 8, 15, 16, 17, 24, 25, 40, 56, 100, 1000, 4096, 65536, 131072, 3 << 20};

#define FORMS(name, NEW, DELETE)                                                           \
  SITE void name##_plain(std::size_t n) {                                                  \
    void* p = NEW(n);                                                                      \
    all.took(#name "_plain", p, n);                                                        \
    used(p, n, 16);                                                                        \
    release(#name "_plain", p, n, [](void* q) { DELETE(q); });                             \
    p = NEW(n);                                                                            \
    all.took(#name "_plain", p, n);                                                        \
    release(#name "_plain", p, n, [n](void* q) { DELETE(q, n); });                         \
  }                                                                                        \
  SITE void name##_nothrow(std::size_t n) {                                                \
    void* p = NEW(n, std::nothrow);                                                        \
    all.took(#name "_nothrow", p, n);                                                      \
    used(p, n, 16);                                                                        \
    release(#name "_nothrow", p, n, [](void* q) { DELETE(q, std::nothrow); });             \
  }                                                                                        \
  SITE void name##_aligned(std::size_t n, std::align_val_t a) {                            \
    void* p = NEW(n, a);                                                                   \
    all.took(#name "_aligned", p, n);                                                      \
    used(p, n, static_cast<std::size_t>(a));                                               \
    release(#name "_aligned", p, n, [a](void* q) { DELETE(q, a); });                       \
    p = NEW(n, a);                                                                         \
    all.took(#name "_aligned", p, n);                                                      \
    release(#name "_aligned", p, n, [n, a](void* q) { DELETE(q, n, a); });                 \
  }                                                                                        \
  SITE void name##_aligned_nothrow(std::size_t n, std::align_val_t a) {                    \
    void* p = NEW(n, a, std::nothrow);                                                     \
    all.took(#name "_aligned_nothrow", p, n);                                              \
    used(p, n, static_cast<std::size_t>(a));                                               \
    release(#name "_aligned_nothrow", p, n, [a](void* q) { DELETE(q, a, std::nothrow); }); \
  }

FORMS(site_new, ::operator new, ::operator delete)
FORMS(site_new_array, ::operator new[], ::operator delete[])

struct counted {
  std::uint64_t value[3];
  ~counted() { test::escape(this); }  // makes new[] ask for room for a count
};

SITE void site_expressions() {
  auto* one = new counted;
  all.took("site_expressions", one, sizeof *one);
  all.gave("site_expressions", one, sizeof *one);
  delete one;
  auto* many = new counted[5];
  all.took("site_expressions", many, 5 * sizeof *many + 8);
  all.last = many;
  all.gave("site_expressions", many, 5 * sizeof *many + 8);
  delete[] many;
  struct alignas(256) wide {
    char bytes[256];
  };
  auto* w = new wide[2];
  CHECK(test::aligned(w, 256));
  all.took("site_expressions", w, 2 * sizeof *w);
  all.gave("site_expressions", w, 2 * sizeof *w);
  delete[] w;
}

// A nothrow operator of libstdc++ that fails throws, and catches, one exception.
static int handler_calls;
SITE void site_failing() {
  volatile std::size_t too_much = PTRDIFF_MAX;
  CHECK(!::operator new(too_much, std::nothrow));
  CHECK(!::operator new[](too_much, std::nothrow));
  CHECK(!::operator new (too_much, std::align_val_t{64}, std::nothrow));
  CHECK(!::operator new[](too_much, std::align_val_t{64}, std::nothrow));
  std::set_new_handler([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  CHECK(!::operator new(too_much, std::nothrow) && handler_calls == 3);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  for (std::size_t n : sizes) {
    site_new_plain(n);
    site_new_array_plain(n);
    site_new_nothrow(n);
    site_new_array_nothrow(n);
    for (std::size_t a = 1; a <= 2 << 20; a *= a < 4096 ? 4 : 512) {
      if (a < 8) continue;
      site_new_aligned(n, std::align_val_t{a});
      site_new_array_aligned(n, std::align_val_t{a});
      site_new_aligned_nothrow(n, std::align_val_t{a});
      site_new_array_aligned_nothrow(n, std::align_val_t{a});
    }
  }
  site_expressions();
  site_failing();
  ::operator delete(nullptr);
  ::operator delete[](nullptr, std::size_t{8});
  test::write_books(argv[1], all, {.emergency_pool = true, .exceptions = 5});
}
