#include "tool/leaks/present_slots.hpp"

#include <algorithm>

namespace heapledger::leaks {

present_slots::present_slots(std::uint64_t base, const std::vector<bool>& present)
    : base_(base), next_(present.size()) {
  std::uint32_t next = UINT32_MAX;
  for (auto i = static_cast<std::uint32_t>(present.size()); i-- > 0;) {
    if (present[i]) next = i;
    next_[i] = next;
  }
}

bool present_slots::has(const wire::watch_slot& block, std::uint32_t index) const {
  if (index >= next_.size() || next_[index] == UINT32_MAX) return false;
  return next_[index] <= (block.address - base_ + std::max<std::uint64_t>(block.bytes, 1) - 1) / wire::watch_slot_bytes;
}

}  // namespace heapledger::leaks
