// The same places again and again: steady ALLOCATIONS. Or ever new ones: steady stacks COUNT | steady threads COUNT.
#include <pthread.h>

#include <string>
#include <thread>
#include <vector>

#include "books.hpp"

SITE void site_steady(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  test::escape(p);
  free(p);
}

// 2^18 stacks: each bit of the number chooses one of two calls.
SITE void site_leaf(unsigned) {
  test::escape(malloc(8));
}
template <int Depth>
[[gnu::noinline]] void branch(unsigned number);
template <>
void branch<0>(unsigned number) {
  site_leaf(number);
  test::escape(&number);
}
template <int Depth>
[[gnu::noinline]] void branch(unsigned number) {
  if (number & 1) {
    branch<Depth - 1>(number >> 1);
    test::escape(&number);
  } else {
    branch<Depth - 1>(number >> 1);
    asm volatile("nop" : : : "memory");  // keeps the two calls apart
  }
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  std::string mode = argv[1];
  if (mode == "stacks") {
    auto count = static_cast<unsigned>(std::atoi(argv[2]));
    for (unsigned i = 0; i < count; ++i) branch<18>(i);
  } else if (mode == "threads") {
    std::vector<std::thread> threads;
    auto count = static_cast<unsigned>(std::atoi(argv[2]));
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, count);
    for (unsigned i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        for (std::size_t n = 0; n < 100; ++n) site_steady(n);
        pthread_barrier_wait(&barrier);
      });
    }
    for (auto& thread : threads) thread.join();
  } else {
    for (unsigned long i = std::strtoul(argv[1], nullptr, 10); i > 0; --i) site_steady(i % 1000);
  }
  test::put(1, "done\n");
}
