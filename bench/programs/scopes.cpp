// What scopes cost, in ns: each line is the median of several measurements. Run it under the probe:
//   LD_PRELOAD=build/release/lib/heapledger/libheapledger.so build/release/bench/scopes
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <heapledger/scope.hpp>
#include <thread>
#include <vector>

namespace {

using heapledger::enter;
using heapledger::scope;

constexpr int repeats = 9;

void one_pair() {
  void* block = std::malloc(40);
  asm volatile("" : "+r"(block)::"memory");
  std::free(block);
}

// The same from one of a dozen stacks.
template <unsigned Site>
[[gnu::noinline]] void one_pair_at(unsigned site) {
  if (site == Site)
    one_pair();
  else if constexpr (Site < 12)
    one_pair_at<Site + 1>(site);
  asm volatile("");
}

template <class Work>
void measure_all(const char* what, long count, Work all_of_them) {
  std::array<double, repeats> found;
  for (double& each : found) {
    const auto start = std::chrono::steady_clock::now();
    all_of_them();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    each = took.count() / static_cast<double>(count);
  }
  std::nth_element(found.begin(), found.begin() + repeats / 2, found.end());
  std::printf("%8.1f  %s\n", found[repeats / 2], what);
}

template <class Work>
void measure(const char* what, long count, Work work) {
  measure_all(what, count, [&] {
    for (long i = 0; i < count; ++i) work(i);
  });
}

// The time of all, by how many they did together.
template <class Work>
void measure_at_once(const char* what, unsigned threads, long count, Work work) {
  measure_all(what, count, [&] {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        for (long i = 0; i < count / threads; ++i) work();
      });
  });
}

void request_of_12_stacks() {
  const heapledger::owned_scope request("request");
  const enter in(request);
  for (unsigned site = 0; site < 12; ++site) one_pair_at<0>(site);
}

}  // namespace

int main() {
  std::printf("probe: %s\n", heapledger::active() ? "there" : "absent");
  constexpr long count = 1'000'000;
  const heapledger::budget plenty{.live_bytes = 1ULL << 40, .action = heapledger::on_exceed::fail};
  const heapledger::budget all{.allocated_bytes = 1ULL << 50, .allocations = 1ULL << 40};
  const scope a("a"), inner("inner", {}, a), limited("limited", plenty), below("below", {}, limited),
      counted("counted", all);
  measure("malloc and free, in no scope", count, [](long) { one_pair(); });
  measure("enter and leave a scope", count, [&](long) { const enter in(a); });
  {
    const enter in(a);
    measure("malloc and free, in a scope", count, [](long) { one_pair(); });
  }
  {
    const enter in(inner);
    measure("malloc and free, in a scope below it", count, [](long) { one_pair(); });
  }
  {
    const enter in(limited);
    measure("malloc and free, in a scope with a budget", count, [](long) { one_pair(); });
  }
  {
    const enter in(below);
    measure("malloc and free, in a scope below it", count, [](long) { one_pair(); });
  }
  {
    const enter in(counted);
    measure("malloc and free, in a scope with a budget of all it ever allocates", count, [](long) { one_pair(); });
  }
  measure("enter a scope, malloc, free, leave", count, [&](long) {
    const enter in(a);
    one_pair();
  });
  for (const unsigned number : {2, 8, 64, 200, 1000}) {
    std::vector<scope> scopes;
    for (unsigned i = 0; i < number; ++i) scopes.emplace_back("alternating");
    char text[64];
    std::snprintf(text, sizeof text, "the same, %u scopes in turn", number);
    measure(text, count, [&](long i) {
      const enter in(scopes[static_cast<unsigned long>(i) % number]);
      one_pair();
    });
    for (scope& each : scopes) each.close();
  }
  {
    std::vector<scope> scopes;
    for (unsigned i = 0; i < 64; ++i) scopes.emplace_back("alternating");
    measure("the same, 64 scopes in turn, each with 12 stacks", count, [&](long i) {
      const enter in(scopes[static_cast<unsigned long>(i) % 64]);
      one_pair_at<0>(static_cast<unsigned>(i) / 64 % 12);
    });
    for (scope& each : scopes) each.close();
  }
  measure("make a scope, enter, malloc, free, leave, close", count / 10, [](long) {
    const heapledger::owned_scope request("request");
    const enter in(request);
    one_pair();
  });
  measure("the same, malloc and free from 12 stacks", count / 10, [](long) { request_of_12_stacks(); });
  measure_at_once("the same, by 2 threads at once", 2, count / 10, request_of_12_stacks);
  measure_at_once("the same, by 4 threads at once", 4, count / 10, request_of_12_stacks);
  measure("usage of a scope", count / 10, [&](long) { inner.used(); });
  measure("usage of a scope with one below it", count / 10, [&](long) { a.used(); });
}
