// How long a pair of allocate and free takes, in the patterns that the table has.
#pragma once

#include <pthread.h>
#include <sched.h>

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

// Subject: allocate() and deallocate(void*). A program writes what it makes before it keeps the pointer, and a
// processor may finish that store in one step with an allocator's own next to the chunk.
template <class Subject>
void fill(Subject& subject, void** chunks) {
  for (std::size_t i = 0; i < depth; ++i) {
    void* const chunk = subject.allocate();
    *static_cast<volatile char*>(chunk) = 1;
    chunks[i] = chunk;
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

// How long a word takes from one thread to the other and back, in nanoseconds. On a virtual machine it changes while
// one looks: two processors may be two threads of one core now, at 60 ns, and far apart a second later, at 320.
class round_trip {
 public:
  double measure(int thread) {
    constexpr int times = 300;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      wait_for([&] { return word_.load(std::memory_order_acquire) % 2 == thread; });
      word_.fetch_add(1, std::memory_order_acq_rel);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return taken.count() * 1e9 / times;
  }

 private:
  alignas(128) std::atomic<int> word_ = 0;
};
inline constexpr double far_from_ns = 150;
inline constexpr double disturbed_from_ns = 1500;

// Nanoseconds of wall time for a pair; 0: not seen.
struct pair_times {
  double ns = 0;                   // local frees
  double near_ns = 0, far_ns = 0;  // remote frees, by how far the other thread was at that moment
};

inline void stay_on_processor(int which) {
  static const cpu_set_t allowed = [] {
    cpu_set_t at_start;
    CPU_ZERO(&at_start);
    sched_getaffinity(0, sizeof at_start, &at_start);
    return at_start;
  }();
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && which-- == 0) {
      CPU_SET(cpu, &chosen);
      pthread_setaffinity_np(pthread_self(), sizeof chosen, &chosen);
      return;
    }
  }
}

// Each thread counted by itself: the best of some repetitions, which is what the code takes when nothing else runs.
template <class Subject>
pair_times time_pair(Subject& subject, order which, int threads, bool is_remote, int rounds) {
  const int repetitions = is_remote ? 16 : 8;
  const auto sequence = free_order(which);
  ring rings[2];
  round_trip trip;
  std::atomic<int> ready = 0;
  struct measured {
    double seconds, trip_ns, later_ns;  // the word's way before and after
  };
  std::vector<std::vector<measured>> times(static_cast<std::size_t>(threads));
  auto body = [&](int thread) {
    for (int turn = -1; turn < repetitions; ++turn) {  // the first warms up
      ready.fetch_add(1);
      wait_for([&] { return ready.load() >= threads * (turn + 2); });
      const double trip_ns = is_remote ? trip.measure(thread) : 0;
      const auto start = std::chrono::steady_clock::now();
      if (is_remote) {
        remote(subject, sequence, rounds, rings[thread], rings[1 - thread]);
      } else {
        local(subject, sequence, rounds);
      }
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      const double later_ns = is_remote ? trip.measure(thread) : 0;
      if (turn >= 0) times[static_cast<std::size_t>(thread)].push_back({taken.count(), trip_ns, later_ns});
    }
  };
  if (threads > 1) stay_on_processor(0);  // and asks what processors there are, before threads are born with one
  std::vector<std::thread> running;
  for (int i = 1; i < threads; ++i) {
    running.emplace_back([&body, i] {
      stay_on_processor(i);
      body(i);
    });
  }
  body(0);  // not in a thread of its own: glibc is faster in a process that never had two
  for (auto& one : running) one.join();
  pair_times best;
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(repetitions); ++turn) {
    double slowest = 0;
    for (const auto& of : times) slowest = std::max(slowest, of[turn].seconds);
    const double ns = slowest * 1e9 / rounds / depth;
    const double trip_ns = times[0][turn].trip_ns, later_ns = times[0][turn].later_ns;
    if (std::max(trip_ns, later_ns) > disturbed_from_ns || (trip_ns < far_from_ns) != (later_ns < far_from_ns))
      continue;
    double& place = !is_remote ? best.ns : trip_ns < far_from_ns ? best.near_ns : best.far_ns;
    place = place == 0 ? ns : std::min(place, ns);
  }
  return best;
}

}  // namespace bench
