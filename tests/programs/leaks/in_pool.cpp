// Four threads take work from each other; what one allocates another frees, and now and then one is forgotten.
#include "scenario.hpp"

#include <mutex>
#include <thread>

corpus::place lost{"leak_task"};
std::mutex guard;
std::vector<void*> queue;

[[gnu::noinline]] void leak_task() {
  lost.lose(64);
}

int main(int, char** arguments) {
  std::vector<std::thread> pool;
  for (int i = 0; i < 4; ++i)
    pool.emplace_back([&] {
      corpus::play(arguments, [](unsigned long tick, double) {
        if (tick % 16 == 0) leak_task();
        const std::lock_guard hold(guard);
        queue.push_back(std::malloc(64));
        if (queue.size() > 50) {
          std::free(queue.front());
          queue.erase(queue.begin());
        }
      });
    });
  for (auto& thread : pool) thread.join();
  corpus::finish({&lost});
}
