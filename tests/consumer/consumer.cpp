#include <cstdio>
#include <heapledger/scope.hpp>
#include <vector>

int main() {
  const heapledger::owned_scope work("work", {.live_bytes = 1000, .action = heapledger::on_exceed::fail});
  heapledger::run_in(work, [&] {
    const std::vector<char> v(100);
    const char* const volatile kept = v.data();  // or the compiler may leave the allocation out
    static_cast<void>(kept);
    std::vector<char> w;
    bool refused = false;
    try {
      w.resize(v.size() + 900);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    const auto used = heapledger::scope(work).used();
    const heapledger::enter outside(heapledger::scope::process());
    std::printf("%d %lld %d\n", heapledger::active(), static_cast<long long>(used.live_bytes), refused);
  });
}
