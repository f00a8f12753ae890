// What the stacks of a running program held over time: of each moment those that held most. All accounts are read for
// it, so it is looked at as seldom as its cost demands. Stays small however long the program runs.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/collect/look_pace.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

class stack_timeline {
 public:
  static constexpr std::size_t moment_limit = 200;
  static constexpr std::size_t stack_limit = 500;  // of a moment

  void sample(const segment_file& file, std::uint64_t now_ns);

  // With the peak and the end, which the profile's stacks tell, and its duration. `stack_of` is by account an index
  // into them, or `none`.
  void add_to(profile& to, const std::vector<std::uint32_t>& stack_of, std::uint64_t start_ns) const;

 private:
  struct holding {
    std::uint32_t account;
    std::int64_t live_bytes;
  };
  struct moment {
    std::uint64_t time_ns;
    std::int64_t live_bytes;  // of all
    std::vector<holding> largest;
  };

  void halve();

  std::vector<moment> moments_;
  look_pace pace_;
};

}  // namespace heapledger::collect
