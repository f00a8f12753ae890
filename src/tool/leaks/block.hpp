// One watched block's life: young, until it is older than its stack's deadline; armed, while any access is noticed; at
// rest after an access; a leak, when it was armed for long and nothing came. A free or an access takes that back.
#pragma once

#include <cstdint>

namespace heapledger::leaks {

struct deadlines {
  double suspicious_s = 0;
  double access_s = 0;
  double rest_s = 0;
  bool operator==(const deadlines&) const = default;
};

enum class phase : std::uint8_t { young, arming, armed, resting, leak };

struct block {
  std::uint32_t account = 0;
  std::uint64_t bytes = 0;
  double inclusion = 1;  // the chance that it had to be watched
  double born_s = 0;
  phase now = phase::young;
  double since_s = 0;         // of this phase; of `leak` too: when it was armed
  double first_armed_s = -1;  // below 0: never yet

  double age_s(double now_s) const { return now_s - born_s; }
};

// What is seen of its page.
struct page_view {
  bool armed = false;
  double armed_s = 0;
  bool touched = false;  // since it was armed
};

struct step {
  bool wants_arming = false;
  bool taken_back = false;
  double gap_s = -1;  // an access ended an armed time of this length
};

step advance(block& block, const page_view& page, const deadlines& limits, double now_s);

}  // namespace heapledger::leaks
