#include "tool/analyse/leak_place.hpp"

#include <algorithm>

namespace heapledger::analyse {

std::optional<std::uint32_t> place_of(const profile& p, const leak_entry& leak) {
  if (leak.pool) return leak.node;
  const auto stack = std::find_if(p.stacks.begin(), p.stacks.end(), [&](const auto& s) { return s.id == leak.stack; });
  if (stack == p.stacks.end()) return {};
  return stack->node;
}

}  // namespace heapledger::analyse
