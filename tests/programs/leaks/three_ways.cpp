// One allocating function, three ways to it that forget what they got, and one that does not.
#include "scenario.hpp"

corpus::place first{"leak_first"};
corpus::place second{"leak_second"};
corpus::place third{"leak_third"};

[[gnu::noinline]] void* make(std::size_t size) {
  void* const block = std::malloc(size);
  std::memset(block, 1, size);
  return block;
}
[[gnu::noinline]] void leak_first() {
  corpus::last_seen = make(100);
  first.bytes += 100;
}
[[gnu::noinline]] void leak_second() {
  corpus::last_seen = make(50);
  second.bytes += 50;
}
[[gnu::noinline]] void leak_third() {
  corpus::last_seen = make(25);
  third.bytes += 25;
}
[[gnu::noinline]] void no_leak() {
  void* volatile block = make(60);
  std::free(block);
}

int main(int, char** arguments) {
  corpus::play(arguments, [](unsigned long tick, double) {
    if (tick % 8 == 0) leak_first();
    if (tick % 8 == 2) leak_second();
    if (tick % 8 == 4) leak_third();
    no_leak();
    corpus::last_seen = nullptr;
  });
  corpus::finish({&first, &second, &third});
}
