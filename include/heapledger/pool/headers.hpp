// Headers for chunks: when a chunk was allocated, and from where.
#pragma once

#include <execinfo.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace heapledger {

inline std::uint64_t monotonic_ns() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

struct birth_time {
  std::uint64_t born_ns = monotonic_ns();

  std::uint64_t age_ns() const noexcept { return monotonic_ns() - born_ns; }
};

// Return addresses, innermost first. The pool's own frame is among them where the compiler made one.
template <std::size_t Depth = 16>
class call_stack {
 public:
  [[gnu::noinline]] call_stack() noexcept {
    void* frames[Depth + 1];
    const int found = ::backtrace(frames, static_cast<int>(Depth + 1));
    while (static_cast<int>(count_) + 1 < found) {  // the first is this function
      frames_[count_] = frames[count_ + 1];
      ++count_;
    }
  }
  std::span<void* const> stack() const noexcept { return {frames_, count_}; }

 private:
  void* frames_[Depth];
  std::size_t count_ = 0;
};

// Several at once.
template <class... Header>
struct headers : Header... {};

}  // namespace heapledger
