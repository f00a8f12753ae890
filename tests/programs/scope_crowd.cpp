// Many threads at once that make scopes, each of which allocates from many stacks. Arguments: requests [THREADS
// [REQUESTS]].
#include <latch>
#include <thread>
#include <vector>

#include "scopes.hpp"

namespace {

using heapledger::enter;
using heapledger::owned_scope;
using heapledger::scope;
using test::take;

// One of 3^levels stacks.
[[gnu::noinline]] void* take_at(unsigned place, unsigned levels) {
  if (levels == 0) return take(24);
  void* block;
  switch (place % 3) {
    case 0:
      block = take_at(place / 3, levels - 1);
      asm volatile("# first" : "+r"(block));
      return block;
    case 1:
      block = take_at(place / 3, levels - 1);
      asm volatile("# second" : "+r"(block));
      return block;
    default:
      block = take_at(place / 3, levels - 1);
      asm volatile("# third" : "+r"(block));
      return block;
  }
}

void requests(unsigned thread_count, unsigned count) {
  constexpr unsigned levels = 6, stacks = 729, blocks = 40;
  const scope all("crowd");
  std::latch together(thread_count);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      unsigned random = t + 1;
      void* held[blocks];
      together.arrive_and_wait();
      for (unsigned i = 0; i < count; ++i) {
        const owned_scope request("request", {}, all);
        const enter in(request);
        for (void*& each : held) {
          random = random * 1664525 + 1013904223;
          each = take_at((random >> 8) % stacks, levels);
        }
        for (void* each : held) free(each);
      }
    });
  for (std::thread& each : threads) each.join();
  const std::uint64_t calls = std::uint64_t{thread_count} * count * blocks;
  CHECK_USED(all, 0, 0, 24 * calls, calls, calls);
}

constexpr test::test_case cases[] = {{"requests", requests, 400, 150}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
