// Work that is asked to stop: a scope has a stop token, which is triggered at the very allocation that does not fit,
// and when one above it is asked to stop. Nobody polls.
#include <condition_variable>
#include <cstdio>
#include <heapledger/scope.hpp>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

int main() {
  const heapledger::owned_scope server("server");
  const heapledger::owned_scope greedy("request", {.live_bytes = 64 * 1024}, server), modest("request", {}, server);

  // The token of the scope stops a loop, and anything else that takes a stop_token.
  std::size_t rows = 0;
  heapledger::run_in(greedy, [&] {
    std::vector<std::string> data;
    const std::stop_token stop = greedy->stop_token();
    while (!stop.stop_requested() && rows < 10000) {
      data.emplace_back(1000, 'x');
      ++rows;
    }
  });
  std::printf("greedy request: %s\n", rows < 100 ? "stopped early" : "ended by itself");
  std::printf("modest request: %s\n", modest->stop_token().stop_requested() ? "stopped too" : "goes on");

  // A thread that waits is woken when the server shuts down.
  std::mutex mutex;
  std::condition_variable_any changed;
  std::thread waiting([&] {
    std::unique_lock held(mutex);
    const std::stop_token stop = modest->stop_token();
    if (stop.stop_possible()) changed.wait(held, stop, [] { return false; });
    std::printf("modest request: woken up\n");
  });
  server->request_stop();
  waiting.join();
}
