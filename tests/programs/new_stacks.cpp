// Threads that come to the same new stacks at the same time.
// usage: new_stacks THREADS
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "ways.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const unsigned count = static_cast<unsigned>(std::atoi(argv[1]));
  std::atomic<unsigned> waiting = count;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&waiting, t] {
      --waiting;
      while (waiting != 0) std::this_thread::yield();
      for (unsigned i = 0; i < all_codes; ++i) down((i ^ t / 2) % all_codes);  // two and two in the same order
    });
  for (auto& each : threads) each.join();
}
