// For locked_steps: work in scopes that is to take plain instructions only, between breakpoints of its own. Argument:
// how often each kind of work is done.
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::scope;

namespace {

template <class Work>
void stretch(unsigned rounds, Work work) {
  constexpr unsigned first = 512;  // by then each scope has its accounts; from one and the same stack
  for (unsigned i = 0; i < first + rounds; ++i) {
    if (i == first) asm volatile("int3");
    work(i);
  }
  asm volatile("int3");
}

void pair() {
  std::free(test::take(40));
}

void steps(unsigned rounds, unsigned) {
  const scope parent("parent"), inner("inner", {}, parent);
  const scope limited("limited", test::failing(1 << 30)), below("below", {}, limited);
  const scope counted("counted", {.allocated_bytes = 1 << 30, .allocations = 1 << 20});
  stretch(rounds, [](unsigned) { pair(); });
  stretch(rounds, [&](unsigned) { const enter in(inner); });
  for (const scope& each : {inner, limited, below, counted}) {
    const enter in(each);
    stretch(rounds, [](unsigned) { pair(); });
  }
  for (const unsigned count : {2u, 5u, 64u}) {
    std::vector<scope> scopes;
    for (unsigned i = 0; i < count; ++i) scopes.emplace_back("alternating");
    stretch(rounds, [&](unsigned i) {
      const enter in(scopes[i % count]);
      pair();
    });
    for (scope& each : scopes) each.close();
  }
}

constexpr test::test_case cases[] = {{"steps", steps, 64}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
