#include "tool/leaks/block.hpp"

#include <algorithm>

namespace heapledger::leaks {
namespace {

void enter(block& block, phase next, double now_s) {
  block.now = next;
  block.since_s = now_s;
}

step accessed(block& block, double now_s) {
  step result;
  result.gap_s = std::max(0.0, now_s - block.since_s);
  result.taken_back = block.now == phase::leak;
  enter(block, phase::resting, now_s);
  return result;
}

}  // namespace

step advance(block& block, const page_view& page, const deadlines& limits, double now_s) {
  step result;
  switch (block.now) {
    case phase::young:
    case phase::resting: {
      const bool due = block.now == phase::young ? block.age_s(now_s) >= limits.suspicious_s
                                                 : now_s - block.since_s >= limits.rest_s;
      if (due) enter(block, phase::arming, now_s);
      result.wants_arming = due;
      return result;
    }
    case phase::arming:
      // An arming from before this phase is an old one: the request is still on its way.
      result.wants_arming = !page.armed || page.armed_s < block.since_s;
      if (result.wants_arming) return result;
      enter(block, phase::armed, page.armed_s);
      if (block.first_armed_s < 0) block.first_armed_s = page.armed_s;
      [[fallthrough]];
    case phase::armed:
      if (page.touched || !page.armed) return accessed(block, now_s);
      if (now_s - block.since_s >= limits.access_s) block.now = phase::leak;
      return result;
    case phase::leak:
      if (page.touched || !page.armed) return accessed(block, now_s);
      if (now_s - block.since_s < limits.access_s) block.now = phase::armed;  // the stack was found to be slower
      return result;
  }
  return result;
}

}  // namespace heapledger::leaks
