// A server in small: requests of different sizes on a few threads, each in a scope of its own with a budget. A request
// that wants too much is refused and ends; the others do not notice, and the peak of no request passes its limit.
// docs/budgets.md walks through it.
#include <array>
#include <atomic>
#include <cstdio>
#include <heapledger/scope.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t request_limit_bytes = 64 * 1024;

std::size_t handle(unsigned number) {
  std::vector<std::string> rows;
  const std::size_t wanted = number % 10 == 0 ? 2000 : 200;  // every tenth is greedy
  for (std::size_t i = 0; i < wanted; ++i) {
    if (heapledger::scope::current().stop_token().stop_requested()) break;  // where work can end early
    rows.emplace_back(100, 'x');
  }
  return rows.size();
}

struct outcome {
  bool served = false;
  heapledger::usage used;
};

outcome serve(heapledger::scope server, unsigned number) {
  heapledger::scope request("request", {.live_bytes = request_limit_bytes, .action = heapledger::on_exceed::fail},
                            server);
  outcome result;
  try {
    result.served = heapledger::run_in(request, [&] { return handle(number); }) != 0;
  } catch (const heapledger::budget_exceeded&) {
    // what() says which budget, how much of it was used, and what was asked for
  }
  result.used = request.used();
  request.close();
  return result;
}

}  // namespace

int main() {
  constexpr unsigned thread_count = 4, request_count = 1000;
  const heapledger::scope server("server");
  std::array<std::atomic<unsigned>, 2> ended{};  // refused, served
  std::atomic<unsigned> over_limit{0}, left_something{0};
  std::vector<std::thread> workers;
  for (unsigned worker = 0; worker < thread_count; ++worker)
    workers.emplace_back([&, worker] {
      for (unsigned number = worker; number < request_count; number += thread_count) {
        const outcome result = serve(server, number);
        ++ended[result.served ? 1 : 0];
        if (result.used.peak_bytes > static_cast<std::int64_t>(request_limit_bytes)) ++over_limit;
        if (result.used.live_bytes != 0) ++left_something;
      }
    });
  for (std::thread& worker : workers) worker.join();
  std::printf("%u served, %u refused, %u over their limit, %u left something\n", ended[1].load(), ended[0].load(),
              over_limit.load(), left_something.load());
}
