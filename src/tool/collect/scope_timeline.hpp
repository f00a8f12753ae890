// What the outermost scopes of a running program held over time. To know it, all accounts are added up, so it is looked
// at as seldom as its cost demands, and not at all where there are no scopes. Stays small however long the program
// runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tool/collect/look_pace.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

class scope_timeline {
 public:
  static constexpr std::size_t point_limit = 400;

  void sample(const segment_file& file, std::uint64_t now_ns);

  // With the end, which the profile's stacks tell; `to.scopes` and its duration are there already.
  void add_to(profile& to, std::uint64_t start_ns) const;

 private:
  struct point {
    std::uint64_t time_ns;
    std::vector<std::int64_t> live_bytes;  // by kind; of those below another, nothing
  };

  std::unique_ptr<segment_copy> copy_;  // large, and most processes have no scopes
  std::vector<point> points_;
  look_pace pace_;
};

}  // namespace heapledger::collect
