// Threads that all have blocks at one moment, each fewer bytes than it tells the others of, or little more: with a peak
// before; and another, lower one once they have ended. Arguments: THREADS BYTES [BYTES_AFTER].
#include <barrier>
#include <cstdlib>
#include <thread>
#include <vector>

#include "books.hpp"

namespace {

void hold(std::size_t bytes) {
  std::vector<char> held(bytes);
  test::escape(held.data());
}

}  // namespace

int main(int argc, char** argv) {
  const auto threads = static_cast<unsigned>(std::atoi(argv[1])), bytes = static_cast<unsigned>(std::atoi(argv[2]));
  hold(1'000'000);
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
  if (argc > 3) hold(static_cast<std::size_t>(std::atoi(argv[3])));
}
