// The highest that lived in scopes at once; each case checks itself, but left_open, of which the profile tells.
// Arguments: CASE [NUMBER].
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::scope;
using test::take;

namespace {

// A peak can be between two looks, and be made of several scopes.
void between_looks(unsigned, unsigned) {
  free(take(1 << 20));  // the process's own peak is elsewhere
  const scope a("a"), b("b", {}, a);
  std::vector<void*> blocks(100);
  const enter in(a);
  for (int round = 1; round <= 3; ++round) {
    for (void*& block : blocks) block = take(100);
    {
      const enter in_b(b);
      void* p = take(500 * round);
      free(p);
      p = take(10);
      free(p);
    }
    for (void* block : blocks) free(block);
  }
  CHECK(b.used().peak_bytes == 1500);
  CHECK(a.used().peak_bytes == 10000 + 1500);
  // only the outer scope is at a peak, and only while a thread is in the inner one
  for (void*& block : blocks) block = take(200);
  {
    const enter in_b(b);
    free(take(1000));
  }
  for (void* block : blocks) free(block);
  CHECK(b.used().peak_bytes == 1500);
  CHECK(a.used().peak_bytes == 20000 + 1000);
  CHECK(a.used().error_bytes == 0);
}

// What a thread has seen of a peak, and has told nobody, a look from another thread finds.
void of_others(unsigned, unsigned) {
  free(take(1 << 20));  // the process's own peak is elsewhere
  const scope a("a"), b("b", {}, a);
  std::atomic<int> step = 0;
  const auto await = [&](int which) {
    while (step != which) std::this_thread::yield();
  };
  std::thread worker([&] {
    const enter in_a(a);
    void* const kept = take(3000);
    const enter in_b(b);
    free(take(500));
    step = 1;
    await(2);
    free(take(200));
    free(take(700));
    step = 3;
    await(4);
    free(kept);
  });
  await(1);
  CHECK(b.used().peak_bytes == 500 && a.used().peak_bytes == 3500);
  step = 2;
  await(3);
  CHECK(b.used().peak_bytes == 700 && a.used().peak_bytes == 3700);
  CHECK(a.used().live_bytes == 3000);
  step = 4;
  worker.join();
  CHECK(b.used().peak_bytes == 700 && a.used().peak_bytes == 3700);
}

// Ends in its scopes: by exit, or by a signal.
void left_open(unsigned how, unsigned) {
  free(take(1 << 20));
  const scope a("a"), b("b", {}, a);
  const enter in_a(a);
  test::escape(take(100'000));
  const enter in_b(b);
  void* const kept = take(5000);
  free(take(500));
  free(kept);
  if (how == 0) std::exit(0);
  test::escape(take(6000));
  raise(SIGKILL);
}

constexpr test::test_case cases[] = {
    {"between_looks", between_looks},
    {"of_others", of_others},
    {"left_open", left_open},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
