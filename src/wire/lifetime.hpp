// How long blocks lived, where the program was started with --lifetimes. Lives are in nanoseconds.
//
// A kill may leave an account's sums one event apart for each thread; the histogram's pairs are stored whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heapledger::wire {

// Bucket 0 counts lives of 0 ns, and bucket b those from edge b to the next: 1, 2, 5, 10, 20, 50 and so on, so that
// decades of time are sums of buckets.
inline constexpr std::size_t lifetime_buckets = 58;
inline constexpr std::array<std::uint64_t, lifetime_buckets> lifetime_edges_ns = [] {
  std::array<std::uint64_t, lifetime_buckets> edges{};
  std::uint64_t decade = 1;
  for (std::size_t bucket = 1; bucket < edges.size(); bucket += 3, decade *= 10)
    for (std::size_t step = 0; step < 3; ++step) edges[bucket + step] = decade * (step == 0 ? 1 : step == 1 ? 2 : 5);
  return edges;
}();
static_assert(lifetime_edges_ns[57] == 5'000'000'000'000'000'000u);

// Of what one writer freed.
struct alignas(16) lifetime_bucket {
  std::uint64_t frees;
  std::uint64_t freed_bytes;
};
struct alignas(64) writer_lifetimes {
  lifetime_bucket buckets[lifetime_buckets];
  std::uint64_t reserved[12];
};
static_assert(sizeof(writer_lifetimes) == 1024);

// Of the blocks of one account, whoever frees them. Both sums are 128 bits wide: ten million blocks that live for an
// hour pass 2^64. Times of birth count from the segment's start.
struct alignas(64) account_lifetimes {
  std::uint64_t births;
  std::uint64_t ends;
  std::uint64_t lived_ns[2];  // of those that ended; the low half first
  std::uint64_t born_ns[2];   // the times of birth of those that did not
  std::uint64_t reserved[2];
};
static_assert(sizeof(account_lifetimes) == 64);

}  // namespace heapledger::wire
