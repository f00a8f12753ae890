// Scopes where there is no memory for what hangs on them; each case checks itself. Argument: CASE.
#include <cstdlib>
#include <new>
#include <vector>

#include "scopes.hpp"

namespace {
int until_none = -1;  // how often operator new has memory
}

void* operator new(std::size_t bytes) {
  if (until_none == 0) throw std::bad_alloc();
  if (until_none > 0) --until_none;
  return malloc(bytes);
}
void operator delete(void* block) noexcept {
  free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  free(block);
}

namespace {

// A scope that cannot be made whole is not made.
void constructor(unsigned, unsigned) {
  bool made = false;
  int failures = 0;
  for (int most = 0; !made; ++most) {
    until_none = most;
    try {
      const heapledger::owned_scope limited("limited", test::failing(1000));
      made = true;
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    until_none = -1;
  }
  CHECK(failures > 1);
}

constexpr test::test_case cases[] = {{"constructor", constructor}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
