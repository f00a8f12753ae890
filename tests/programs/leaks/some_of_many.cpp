// One in thirty blocks of a busy place is forgotten, the others are freed soon.
#include "scenario.hpp"

corpus::place lost{"leak_request"};

[[gnu::noinline]] void* leak_request(bool forget) {
  void* const block = std::malloc(72);
  std::memset(block, 1, 72);
  if (forget) lost.bytes += 72;
  return block;
}

int main(int, char** arguments) {
  unsigned long count = 0;
  corpus::play(arguments, [&](unsigned long, double) {
    for (int i = 0; i < 6; ++i) {
      const bool forget = ++count % 30 == 0;
      void* volatile block = leak_request(forget);
      if (!forget) std::free(block);
      block = nullptr;
    }
  });
  corpus::finish({&lost});
}
