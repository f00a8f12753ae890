// All that a scope can be asked: limits on bytes at any moment, on bytes ever allocated and on allocations; what was
// used, what remains, whether a limit was met. There is no limit that was not asked for.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <heapledger/scope.hpp>
#include <memory>

namespace {

void print(const char* what, std::uint64_t value) {
  if (value == heapledger::unlimited)
    std::printf("%s: unlimited\n", what);
  else
    std::printf("%s: %" PRIu64 "\n", what, value);
}

bool can_allocate(heapledger::scope in, std::size_t bytes) {
  return heapledger::run_in(in, [bytes] {
    const std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::malloc(bytes)), &std::free);
    asm volatile("" : : "r"(block.get()) : "memory");  // a compiler may leave memory out that nobody looks at
    return block != nullptr;
  });
}

}  // namespace

int main() {
  using heapledger::on_exceed;
  const heapledger::owned_scope outer("outer", {.allocations = 5, .action = on_exceed::fail});
  const heapledger::owned_scope inner("inner", {.live_bytes = 1000, .allocated_bytes = 3000, .action = on_exceed::fail},
                                      outer);

  print("limit on live bytes", inner->limits().live_bytes);
  print("limit on allocations", inner->limits().allocations);
  print("remaining allocations", inner->remaining().allocations);  // the least of its own and of those above

  std::printf("1001 bytes at once: %s\n", can_allocate(inner, 1001) ? "yes" : "no");
  for (int i = 0; i < 4; ++i) std::printf("1000 bytes again: %s\n", can_allocate(inner, 1000) ? "yes" : "no");
  print("allocated", inner->used().allocated_bytes);
  print("live", static_cast<std::uint64_t>(inner->used().live_bytes));
  print("remaining bytes", inner->remaining().allocated_bytes);
  print("remaining allocations", inner->remaining().allocations);
  std::printf("exceeded: %s, and above it: %s\n", inner->exceeded() ? "yes" : "no", outer->exceeded() ? "yes" : "no");

  // Memory that malloc does not know, such as mmap's or a GPU's, by hand.
  const heapledger::owned_scope mapped("mapped", {.live_bytes = 4096, .action = on_exceed::fail});
  std::printf("a page: %s", heapledger::add_foreign(mapped, 4096) ? "yes" : "no");
  std::printf(", another: %s\n", heapledger::add_foreign(mapped, 4096) ? "yes" : "no");
  heapledger::add_foreign(mapped, -4096);

  // Counting from here on: the difference to an earlier usage. To begin with a fresh budget, take a fresh scope.
  const heapledger::usage before = outer->used();
  can_allocate(outer, 7);
  print("since then", outer->used().since(before).allocated_bytes);
}
