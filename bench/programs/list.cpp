// The list benchmark: threads fill and drain a std::list<int>, one node an allocation, all nodes live in between.
// usage: list [frames: 0 or 32] [threads] [nodes] [rounds]
// Built with SCOPED, each thread works in a scope of its own; with SCOPED=2, in one with a budget that it does not
// meet.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <thread>
#include <vector>

#include "frames.hpp"
#ifdef SCOPED
#include <heapledger/scope.hpp>
#endif

namespace {

struct fill_and_drain {
  int nodes;
  int rounds;
  long result = 0;

  void operator()() {
#ifdef SCOPED
    const heapledger::budget plenty{.live_bytes = 1ULL << 40, .action = heapledger::on_exceed::fail};
    const heapledger::owned_scope work("work", SCOPED == 2 ? plenty : heapledger::budget{});
    const heapledger::enter inside(work);
#endif
    std::list<int> list;
    long sum = 0;  // not a member: the threads' objects share a cache line
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < nodes; ++i) {
        list.push_back(i);
      }
      while (!list.empty()) {
        sum += list.front();
        list.pop_front();
      }
    }
    result = sum;
  }
};

int argument(int argc, char** argv, int index, int otherwise) {
  return index < argc ? std::atoi(argv[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const int frames = argument(argc, argv, 1, 0);
  const int thread_count = argument(argc, argv, 2, 2);
  const fill_and_drain work{argument(argc, argv, 3, 1'000'000), argument(argc, argv, 4, 4)};
  if ((frames != 0 && frames != 32) || thread_count < 1) {
    std::fprintf(stderr, "usage: list [frames: 0 or 32] [threads] [nodes] [rounds]\n");
    return 2;
  }
  std::vector<fill_and_drain> works(thread_count, work);
  std::vector<std::thread> threads;
  for (auto& each : works) {
    threads.emplace_back([&each, frames] { frames == 0 ? each() : under_frames<32>(each); });
  }
  long sum = 0;
  for (int i = 0; i < thread_count; ++i) {
    threads[i].join();
    sum += works[i].result;
  }
  std::printf("%ld\n", sum);
}
