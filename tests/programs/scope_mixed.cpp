// A budget that was set in code without exceptions is met in code that has them.
#include "scopes.hpp"

heapledger::scope plain_limited();

int main() {
  if (!heapledger::active()) return 3;
  bool refused = false, spared = false;
  heapledger::run_in(plain_limited(), [&] {
    try {
      ::operator delete(::operator new(2000));
    } catch (const heapledger::budget_exceeded&) {
      refused = true;
    }
    [&]() noexcept {
      ::operator delete(::operator new(2000));
      spared = true;
    }();
  });
  CHECK(refused && spared);
}
