// What a task uses, told at intervals, until its last byte is freed: also after the task has ended, so that a sum over
// all tasks comes back to zero.
#include <chrono>
#include <cstdio>
#include <heapledger/periodic.hpp>
#include <latch>
#include <memory>
#include <string>

int main() {
  using namespace std::chrono_literals;
  if (!heapledger::active()) return 0;
  std::int64_t gauge = 0;
  std::latch grown(1), ended(1);
  heapledger::scope task("task");
  auto result = heapledger::run_in(task, [] { return std::make_unique<char[]>(5000); });
  heapledger::report_every(task, 1ms, [&, first = true](heapledger::scope, heapledger::usage used) mutable {
    gauge = used.live_bytes;
    if (std::exchange(first, false)) {
      std::printf("%lld bytes, the task is at work\n", static_cast<long long>(gauge));
      grown.count_down();
    }
    if (gauge == 0) ended.count_down();
  });
  grown.wait();
  task.close();
  std::printf("the task has ended, and left its result\n");
  result.reset();
  ended.wait();
  std::printf("%lld bytes\n", static_cast<long long>(gauge));
}
