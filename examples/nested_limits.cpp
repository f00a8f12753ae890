// Nested scopes, and a limit that is seen to be passed: what an inner scope allocates counts for the outer one as well.
// `stop` lets the work go on and asks it to stop; `fail` would have refused the first allocation over the limit.
#include <cinttypes>
#include <cstdio>
#include <heapledger/scope.hpp>
#include <vector>

namespace {

void print(const char* what, heapledger::scope in) {
  const heapledger::usage used = in.used();
  const heapledger::enter outside(heapledger::scope::process());  // printf's buffer is not the work's
  std::printf("%s %" PRIu64 " bytes in %" PRIu64 " allocations\n", what, used.allocated_bytes, used.allocations);
}

}  // namespace

int main() {
  std::vector<std::int64_t> v;
  const heapledger::owned_scope outer("outer", {.allocated_bytes = 1024});
  heapledger::run_in(outer, [&] {
    v = std::vector<std::int64_t>(100);
    print("initial allocation", outer);
    const heapledger::owned_scope inner("inner");
    heapledger::run_in(inner, [&] {
      v = std::vector<std::int64_t>(5000);
      print("derived allocation", inner);
    });
    if (outer->stop_token().stop_requested()) print("total allocations", outer);
  });
  std::printf("%zu\n", v.size());
}
