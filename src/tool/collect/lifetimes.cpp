#include "tool/collect/lifetimes.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace heapledger::collect {
namespace {

__extension__ typedef unsigned __int128 wide;

constexpr std::uint64_t limit = std::uint64_t{1} << 58;

// Nothing where it is more than all blocks of a process can live together, or below zero.
std::optional<time_sum> to_time(const std::uint64_t (&sum)[2]) {
  constexpr std::uint64_t second = 1'000'000'000;
  if (sum[1] >= limit >> 34) return {};
  const wide ns = static_cast<wide>(sum[1]) << 64 | sum[0];
  return time_sum{static_cast<std::uint64_t>(ns / second), static_cast<std::uint32_t>(ns % second)};
}

class bounded_sum {
 public:
  bool takes(std::uint64_t value) {
    if (value > limit - sum_) return false;
    sum_ += value;
    return true;
  }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace

void add_lives(const segment_copy& segment, books& to) {
  bounded_sum ended, unended, lived, born;
  const std::size_t count = std::min(to.accounts.size(), segment.account_lifetimes.size());
  for (std::size_t i = 0; i < count; ++i) {
    const wire::account_lifetimes& sums = segment.account_lifetimes[i];
    lives& life = to.accounts[i].life;
    if (const auto time = to_time(sums.lived_ns); time && ended.takes(sums.ends) && lived.takes(time->seconds)) {
      life.ended = sums.ends;
      life.lived = *time;
    }
    // A kill between two adds may leave an end without its birth.
    if (sums.births <= sums.ends) continue;
    const std::uint64_t left = sums.births - sums.ends;
    if (const auto time = to_time(sums.born_ns); time && unended.takes(left) && born.takes(time->seconds)) {
      life.unended = left;
      life.born = *time;
    }
  }
}

void add_lifetimes(const segment_copy& segment, profile& to) {
  to.process.lives_timed = segment.header.writer_lifetimes.capacity != 0;
  bounded_sum all_frees, all_bytes;
  std::array<wire::lifetime_bucket, wire::lifetime_buckets> sums{};
  for (const auto& writer : segment.writer_lifetimes)
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto& bucket = writer.buckets[i];
      if (!all_frees.takes(bucket.frees) || !all_bytes.takes(bucket.freed_bytes)) continue;
      sums[i].frees += bucket.frees;
      sums[i].freed_bytes += bucket.freed_bytes;
    }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].frees == 0) continue;
    const std::uint64_t to_ns = i + 1 < sums.size() ? wire::lifetime_edges_ns[i + 1] - 1 : UINT64_MAX;
    to.lifetimes.push_back({wire::lifetime_edges_ns[i], to_ns, sums[i].frees, sums[i].freed_bytes});
  }
}

}  // namespace heapledger::collect
