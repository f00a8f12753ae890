// One stack's live memory over time, from its exact counters: what of it never came back.
//
// Time is cut into windows; of each the least live blocks and bytes are kept. A block that is never freed is in every
// minimum after its birth, so the lowest minimum from a window on (the floor) tells how much has been there since.
// Where churn is large and a leak is small, minima see the leak and averages do not. When all windows are full,
// neighbours are merged: the history covers the whole hunt in bounded room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapledger::leaks {

struct exact_counts {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::int64_t live_blocks = 0;
  std::int64_t live_bytes = 0;
  bool operator==(const exact_counts&) const = default;
};

class growth {
 public:
  static constexpr std::size_t window_limit = 32;
  static constexpr std::size_t fewest_rises = 3;  // of the floor, before anything is suspected

  // `window_s` is the least length of a window.
  growth(double now_s, double window_s, const exact_counts& first);

  // `activity` is what the whole process has allocated: a clock that stands still while the program is idle.
  void observe(double now_s, double activity, const exact_counts& now);

  const exact_counts& now() const { return now_; }
  double observed_s() const { return last_s_ - first_s_; }
  // Lately, or all the time: whichever is more.
  double allocations_per_s() const;

  // What was there from the beginning and may still be: never the hunt's business.
  std::int64_t base_blocks() const;
  std::int64_t base_bytes() const;

  // Whether the floor rises again and again: more often than that of a stack whose memory only fluctuates.
  bool rises() const;
  // Whether it has stopped to rise: were the rise still going on, so long a pause would be a surprise (1 in 100), by
  // the clock and by the program's activity.
  bool has_stopped() const;

  // What has lived at least `age_s`. `most` is exact; `least` counts every younger allocation as alive.
  struct bounds {
    std::int64_t least_blocks = 0, most_blocks = 0;
    std::int64_t least_bytes = 0, most_bytes = 0;
    std::uint64_t younger_blocks = 0, younger_bytes = 0;  // allocations in the last age_s
    double age_s = 0;                                     // what the windows could tell: at least what was asked
  };
  bounds older_than(double age_s) const;

  // The floor's rise since the beginning.
  std::int64_t risen_blocks() const;
  std::int64_t risen_bytes() const;
  std::uint64_t allocations() const { return now_.allocations - begin_allocations_; }
  // So many allocations for each block by which the floor rises. Of the later half of the time, if it rises there by
  // more than chance: what a stack holds at any time came at once, and is no part of a steady rise.
  double allocations_per_risen() const;

 private:
  struct window {
    double start_s = 0;
    double start_activity = 0;
    std::uint64_t start_allocations = 0;
    std::uint64_t start_allocated_bytes = 0;
    std::int64_t least_blocks = 0;
    std::int64_t least_bytes = 0;
  };

  void merge();
  std::vector<std::int64_t> floors() const;  // of blocks, by window

  std::vector<window> windows_;
  double window_s_;
  double first_s_;
  double last_s_;
  double last_activity_ = 0;
  double lately_per_s_ = 0;
  std::uint64_t begin_allocations_;
  exact_counts now_;
};

}  // namespace heapledger::leaks
