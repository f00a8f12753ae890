// Threads that all have blocks at one moment, each fewer bytes than it tells the others of: with a peak before.
// Arguments: THREADS BYTES.
#include <barrier>
#include <cstdlib>
#include <thread>
#include <vector>

#include "books.hpp"

int main(int, char** argv) {
  const auto threads = static_cast<unsigned>(std::atoi(argv[1])), bytes = static_cast<unsigned>(std::atoi(argv[2]));
  {
    std::vector<char> before(1'000'000);
    test::escape(before.data());
  }
  std::barrier all(threads);
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back([&] {
      std::vector<void*> blocks;
      for (unsigned at = 0; at < bytes; at += 100) blocks.push_back(malloc(100));
      all.arrive_and_wait();
      for (void* block : blocks) free(block);
    });
  for (std::thread& each : workers) each.join();
}
