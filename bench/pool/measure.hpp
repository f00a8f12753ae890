// How long a pair of allocate and free takes, in the patterns that the table has.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace bench {

inline constexpr std::size_t depth = 256;  // chunks that live at once, of each thread

enum class order { lifo, fifo, random };
inline constexpr const char* order_names[] = {"lifo", "fifo", "random"};

inline std::vector<unsigned> free_order(order which) {
  std::vector<unsigned> result(depth);
  std::iota(result.begin(), result.end(), 0u);
  if (which == order::lifo) std::reverse(result.begin(), result.end());
  if (which == order::random) std::shuffle(result.begin(), result.end(), std::mt19937(7));
  return result;
}

// Subject: allocate() and deallocate(void*).
template <class Subject>
void fill(Subject& subject, void** chunks) {
  for (std::size_t i = 0; i < depth; ++i) {
    chunks[i] = subject.allocate();
    *static_cast<volatile char*>(chunks[i]) = 1;
  }
}
template <class Subject>
void drain(Subject& subject, void** chunks, const unsigned* sequence) {
  for (std::size_t i = 0; i < depth; ++i) subject.deallocate(chunks[sequence[i]]);
}

// Each thread frees what it allocated.
template <class Subject>
void local(Subject& subject, const std::vector<unsigned>& sequence, int rounds) {
  std::vector<void*> chunks(depth);
  for (int round = 0; round < rounds; ++round) {
    fill(subject, chunks.data());
    drain(subject, chunks.data(), sequence.data());
  }
}

// Spins, and on a busy machine lets the other thread run.
template <class Condition>
void wait_for(Condition&& condition) {
  for (int tries = 0; !condition(); ++tries) {
    if (tries < 2000) {
      __builtin_ia32_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

// Each thread frees what the other one allocated: batches go through a ring in each direction, so that neither waits
// for the other at every batch.
struct ring {
  static constexpr std::size_t places = 16;
  std::vector<void*> batches = std::vector<void*>(places * depth);
  alignas(128) std::atomic<std::size_t> written = 0;
  alignas(128) std::atomic<std::size_t> read = 0;

  void** batch(std::size_t number) { return &batches[number % places * depth]; }
};
template <class Subject>
void remote(Subject& subject, const std::vector<unsigned>& sequence, int rounds, ring& out, ring& in) {
  const std::size_t start = out.written.load();
  const std::size_t end = start + static_cast<std::size_t>(rounds);
  std::size_t written = start, read = start;
  while (read < end) {
    if (written < end && written - out.read.load(std::memory_order_acquire) < ring::places) {
      fill(subject, out.batch(written));
      out.written.store(++written, std::memory_order_release);
    }
    if (written == end || written - read >= ring::places / 2) {
      wait_for([&] { return in.written.load(std::memory_order_acquire) > read; });
      drain(subject, in.batch(read), sequence.data());
      in.read.store(++read, std::memory_order_release);
    }
  }
}

// Nanoseconds of wall time for a pair, each thread counted by itself: the best of some repetitions, which is what the
// code takes when nothing else runs.
template <class Subject>
double pair_ns(Subject& subject, order which, int threads, bool is_remote, int rounds) {
  constexpr int repetitions = 8;
  const auto sequence = free_order(which);
  ring rings[2];
  std::atomic<int> ready = 0;
  std::vector<std::vector<double>> seconds(static_cast<std::size_t>(threads), std::vector<double>(repetitions));
  auto body = [&](int thread) {
    for (int turn = -1; turn < repetitions; ++turn) {  // the first warms up
      ready.fetch_add(1);
      wait_for([&] { return ready.load() >= threads * (turn + 2); });
      const auto start = std::chrono::steady_clock::now();
      if (is_remote) {
        remote(subject, sequence, rounds, rings[thread], rings[1 - thread]);
      } else {
        local(subject, sequence, rounds);
      }
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      if (turn >= 0) seconds[static_cast<std::size_t>(thread)][static_cast<std::size_t>(turn)] = taken.count();
    }
  };
  std::vector<std::thread> running;
  for (int i = 1; i < threads; ++i) running.emplace_back(body, i);
  body(0);
  for (auto& one : running) one.join();
  double best = 1e9;
  for (std::size_t turn = 0; turn < repetitions; ++turn) {
    double slowest = 0;
    for (const auto& of : seconds) slowest = std::max(slowest, of[turn]);
    best = std::min(best, slowest);
  }
  return best * 1e9 / rounds / depth;
}

}  // namespace bench
