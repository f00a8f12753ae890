// What every program of the leak corpus shares: it runs for so many seconds, knows what it has lost, and says so at the
// end.
//
//   PROGRAM SECONDS   prints one line for each place that leaks: "lost FUNCTION BYTES"
//
// What leaks does so in a function whose name begins with leak_. A program ends by _exit: nothing is cleaned up.
#pragma once

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace corpus {

inline double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Pointers are written down where the compiler cannot know who reads them, and overwritten.
inline void* volatile last_seen = nullptr;

struct place {
  const char* function;
  std::atomic<unsigned long> bytes{0};

  [[gnu::always_inline]] inline void* lose(std::size_t size) {
    void* const block = std::malloc(size);
    std::memset(block, 1, size);
    last_seen = block;
    last_seen = nullptr;
    bytes += size;
    return block;
  }
};

// Work like any program's: blocks that live for a while, in a ring. They are written when they come and when they go.
class healthy_work {
 public:
  explicit healthy_work(std::size_t at_a_time = 300) : ring_(at_a_time) {}
  ~healthy_work() {
    for (void* block : ring_) std::free(block);
  }
  [[gnu::noinline]] void step(int events) {
    for (int i = 0; i < events; ++i) {
      void*& place = ring_[at_++ % ring_.size()];
      if (place != nullptr) *static_cast<char*>(place) = 2;
      std::free(place);
      place = std::malloc(32 + at_ % 96);
      *static_cast<char*>(place) = 1;
    }
  }

 private:
  std::vector<void*> ring_;
  std::size_t at_ = 0;
};

// step(tick, share of the time) every 2 ms, or as often as the machine lets us, until the time is over; then a moment
// of healthy work alone.
template <class Step>
void play(char** arguments, Step&& step, int healthy_events = 20) {
  const double seconds = arguments[1] != nullptr ? std::atof(arguments[1]) : 1;
  healthy_work work;
  const double begin = now_s();
  const timespec pause{0, 2'000'000};
  unsigned long tick = 0;
  for (double time = 0; time < seconds * 1.05; time = now_s() - begin) {
    work.step(healthy_events);
    if (time < seconds) step(++tick, time / seconds);
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] inline void finish(std::initializer_list<const place*> places = {}) {
  for (const auto* each : places) std::printf("lost %s %lu\n", each->function, each->bytes.load());
  std::fflush(stdout);
  _exit(0);
}

}  // namespace corpus
