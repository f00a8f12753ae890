// Which blocks have a page in memory, where a block may be of several slots. How many it claims is the program's to
// write, so the answer takes the same time for all.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/watch.hpp"

namespace heapledger::leaks {

class present_slots {
 public:
  // By slot, whether a page of it is present; `base` is the first one's address.
  present_slots(std::uint64_t base, const std::vector<bool>& present);

  // A block is present where any of its slots is.
  bool has(const wire::watch_slot& block, std::uint32_t index) const;

 private:
  std::uint64_t base_;
  std::vector<std::uint32_t> next_;  // by slot: the next present one, itself included
};

}  // namespace heapledger::leaks
