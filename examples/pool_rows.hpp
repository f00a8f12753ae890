// What the event loops' pools have counted, as lines for plot.py: what, from, to, count.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "heapledger/pool/analyzers.hpp"
#include "heapledger/pool/pool_set.hpp"

template <class Threading>
struct counted_pools {
  using seen = heapledger::analyzers<heapledger::counting<Threading>, heapledger::sizes<Threading>,
                                     heapledger::lifetimes<Threading>>;
  using type = heapledger::pool_set<Threading, heapledger::birth_time, seen, heapledger::exact_checks>;
};

std::uint64_t sum(auto& pools, auto of) {
  std::uint64_t total = 0;
  pools.for_each_pool([&](auto& pool) { total += of(pool.analyzer()); });
  return total;
}

inline void print_row(const char* what, std::uint64_t from, std::uint64_t to, std::uint64_t count) {
  std::printf("%s %llu %llu %llu\n", what, static_cast<unsigned long long>(from), static_cast<unsigned long long>(to),
              static_cast<unsigned long long>(count));
}

// Pages and chunks in use, by microseconds since the start.
void print_in_use(auto& pools, std::chrono::steady_clock::time_point start) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  print_row("pages", static_cast<std::uint64_t>(elapsed.count()), sum(pools, [](auto& a) { return a.pages(); }),
            sum(pools, [](auto& a) { return a.chunks_in_use(); }));
}

void print_histogram(const char* what, auto count_of) {
  using buckets = heapledger::log_histogram<false>;
  for (std::size_t bucket = 0; bucket + 1 < buckets::buckets; ++bucket) {
    if (const std::uint64_t count = count_of(bucket); count != 0) {
      print_row(what, buckets::lowest(bucket), buckets::highest(bucket), count);
    }
  }
}

// Of each pool: the chunk's size, twice, and how many were allocated.
void print_chunks(auto& pools) {
  pools.for_each_pool([](auto& pool) {
    constexpr std::size_t bytes = std::remove_cvref_t<decltype(pool)>::chunk_bytes;
    if (const std::uint64_t count = pool.analyzer().allocations; count != 0)
      print_row("chunk_bytes", bytes, bytes, count);
  });
}

void print_histograms(auto& pools) {
  print_histogram("size_bytes",
                  [&](std::size_t i) { return sum(pools, [=](auto& a) { return a.asked_bytes.count(i); }); });
  print_histogram("lifetime_ns", [&](std::size_t i) { return sum(pools, [=](auto& a) { return a.age_ns.count(i); }); });
  print_row("total", sum(pools, [](auto& a) { return a.allocations.value(); }),
            sum(pools, [](auto& a) { return a.frees.value(); }), 0);
}
