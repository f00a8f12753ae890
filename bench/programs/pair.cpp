// The hot path alone: malloc and free of one small block, again and again, under a number of frames.
// usage: pair stay|descend FRAMES PAIRS [trap]
//   stay     all pairs from one frame: nothing on the stack moves between two of them
//   descend  each pair comes down through all the frames anew, as in a program that does something in between
// FRAMES is 1, 8 or 32. Prints nanoseconds a pair. With `trap`, a breakpoint instruction stands before and after the
// measured loop, for a tracer that counts instructions (count_steps).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "frames.hpp"

namespace {

constexpr std::size_t block_bytes = 40;

[[gnu::always_inline]] inline void one_pair() {
  void* block = std::malloc(block_bytes);
  asm volatile("" : "+r"(block)::"memory");
  std::free(block);
}

struct many_pairs {
  long pairs;
  void operator()() {
    for (long i = 0; i < pairs; ++i) {
      one_pair();
    }
  }
};

struct single_pair {
  void operator()() { one_pair(); }
};

// A work at FRAMES 1 is called through one frame of its own, so `Frames - 1` stand above it.
template <int Frames>
[[gnu::noinline]] void run(bool descend, long pairs) {
  if (descend) {
    single_pair work;
    for (long i = 0; i < pairs; ++i) {
      under_frames<Frames - 1>(work);
    }
  } else {
    many_pairs work{pairs};
    under_frames<Frames - 1>(work);
  }
}

void run(int frames, bool descend, long pairs) {
  switch (frames) {
    case 1:
      return run<1>(descend, pairs);
    case 8:
      return run<8>(descend, pairs);
    default:
      return run<32>(descend, pairs);
  }
}

void breakpoint(bool wanted) {
  if (wanted) {
    asm volatile("int3" ::: "memory");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool descend = argc > 1 && std::strcmp(argv[1], "descend") == 0;
  const bool stay = argc > 1 && std::strcmp(argv[1], "stay") == 0;
  const int frames = argc > 2 ? std::atoi(argv[2]) : 0;
  const long pairs = argc > 3 ? std::atol(argv[3]) : 0;
  const bool trap = argc > 4 && std::strcmp(argv[4], "trap") == 0;
  if (descend == stay || (frames != 1 && frames != 8 && frames != 32) || pairs < 1) {
    std::fprintf(stderr, "usage: pair stay|descend FRAMES(1, 8, 32) PAIRS [trap]\n");
    return 2;
  }
  run(frames, descend, pairs / 10 + 100);  // caches, first-use costs
  const auto start = std::chrono::steady_clock::now();
  breakpoint(trap);
  run(frames, descend, pairs);
  breakpoint(trap);
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("%.2f\n", elapsed.count() / static_cast<double>(pairs));
}
