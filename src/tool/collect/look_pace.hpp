// When to look again at what takes time to look at, so that the looks are a small share of it, and so that moments
// which are thinned out as they become many stay evenly apart.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heapledger::collect {

class look_pace {
 public:
  bool is_due(std::uint64_t now_ns) const { return now_ns >= due_ns_; }
  void looked(std::uint64_t now_ns, std::uint64_t cost_ns) {
    constexpr std::uint64_t cost_share = 200;  // of the time, at most one part in so many
    due_ns_ = now_ns + std::max(pause_ns_, cost_share * cost_ns);
  }
  // Half of the moments are left, of so long a time.
  void thinned(std::uint64_t span_ns, std::size_t moments) { pause_ns_ = std::max(pause_ns_, span_ns / moments); }

 private:
  std::uint64_t pause_ns_ = 20'000'000;  // at least
  std::uint64_t due_ns_ = 0;
};

}  // namespace heapledger::collect
