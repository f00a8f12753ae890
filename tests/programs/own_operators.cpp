// A program that replaces some of the global operators: what it does not replace is built on what it does.
#include <new>
#include <string>
#include <vector>

#include "attaching.hpp"
#include "books.hpp"

static unsigned news, deletes;

void* operator new(std::size_t bytes) {
  news++;
  void* block = std::malloc(bytes + 16);
  if (!block) throw std::bad_alloc();
  std::memcpy(block, "own header ....", 16);
  return static_cast<char*>(block) + 16;
}
void operator delete(void* block) noexcept {
  if (!block) return;
  deletes++;
  void* start = static_cast<char*>(block) - 16;
  CHECK(!std::memcmp(start, "own header ....", 16));
  std::free(start);
}
void operator delete(void* block, std::size_t) noexcept {
  ::operator delete(block);
}

struct base {
  std::uint64_t value[4];
  virtual ~base() = default;
};
struct alignas(128) wide {  // the aligned operators are not replaced
  char bytes[128];
};

int main() {
  for (int i = 0; i < 200; ++i) {
    delete new base;
    delete[] new base[5];
    delete new wide;
    delete[] new int[static_cast<std::size_t>(i)];
    void* p = ::operator new(8, std::nothrow);
    ::operator delete(p, std::nothrow);
    std::vector<std::string> many(10, std::string(50, 'y'));
    test::escape(many.data());
#ifdef ATTACHED
    if (i == 100) CHECK(test::attach() == 0);
    if (i == 150) CHECK(test::detach() == 0);
#endif
  }
  test::put(1, "%u news, %u deletes\n", news, deletes);
}
