// Memory per task, exact: two tasks, each with its own scope. Then memory that one task allocates and another frees: it
// is credited to the task that allocated it, so nobody's count goes below zero.
#include <cstdio>
#include <heapledger/scope.hpp>
#include <optional>
#include <thread>
#include <vector>

namespace {

void allocated_in(heapledger::scope task) {
  std::printf("Allocated %lld\n", static_cast<long long>(task.used().live_bytes));
}

void two_tasks() {
  std::thread first([] {
    const heapledger::owned_scope task("task");
    heapledger::run_in(task, [&] {
      const std::vector<std::int32_t> v = {1, 2, 3, 4, 5, 6};
      allocated_in(task);
    });
  });
  first.join();
  std::thread second([] {
    const heapledger::owned_scope task("task");
    heapledger::run_in(task, [&] {
      const std::vector<std::int32_t> v = {1, 2, 3};
      allocated_in(task);
    });
  });
  second.join();
}

void moved_from_one_to_the_other() {
  const heapledger::owned_scope sender("sender"), receiver("receiver");
  std::optional<std::vector<std::int32_t>> channel;
  std::thread first(heapledger::bind(sender, [&] { channel.emplace({1, 2, 3, 4, 5, 6}); }));
  first.join();
  allocated_in(sender);
  std::thread second(heapledger::bind(receiver, [&] {
    { const std::vector<std::int32_t> data = std::move(*channel); }
    allocated_in(receiver);
    allocated_in(sender);
  }));
  second.join();
}

}  // namespace

int main() {
  two_tasks();
  moved_from_one_to_the_other();
}
