// What places held over time, from what was seen of their stacks: of each moment only those that held most are known,
// so a place of many small stacks may have held more than this says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tool/analyse/groups.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

class place_timeline {
 public:
  explicit place_timeline(const profile& p);

  // Rising; too few for a line, there are none.
  const std::vector<std::int64_t>& times_ns() const { return times_ns_; }
  // By moment, of stacks together.
  std::vector<std::int64_t> live_bytes(std::span<const std::uint32_t> stacks) const;

 private:
  const profile& p_;
  std::vector<std::int64_t> times_ns_;
};

struct place_line {
  std::size_t site;  // its index
  std::vector<std::int64_t> live_bytes;
};
// Of the sites that held most at some moment, so many of them, the largest first.
std::vector<place_line> highest_places(const place_timeline& timeline, const std::vector<site>& sites,
                                       std::size_t most);

}  // namespace heapledger::analyse
