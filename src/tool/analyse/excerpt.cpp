#include "tool/analyse/excerpt.hpp"

#include <vector>

namespace heapledger::analyse {

profile excerpt(const profile& p, const std::set<std::uint32_t>& ids) {
  profile result;
  result.process = p.process;
  result.strings = p.strings;
  result.frames = p.frames;
  result.modules = p.modules;
  result.leaks = p.leaks;
  if (p.leaks) result.pools = p.pools;  // leaks name them
  for (auto& pool : result.pools) pool.sites.clear();
  result.symbolized = p.symbolized;

  std::vector<bool> used(p.nodes.size());
  const auto use = [&](std::uint32_t node) {
    for (; node != 0 && !used[node]; node = p.nodes[node].parent) used[node] = true;
  };
  for (const auto& stack : p.stacks)
    if (ids.count(stack.id) != 0) use(stack.node);
  if (p.leaks)
    for (const auto& leak : p.leaks->entries)
      if (leak.pool) use(leak.node);
  std::vector<std::uint32_t> new_node(p.nodes.size());
  std::vector<std::uint32_t> new_location(p.locations.size(), none);
  result.nodes.emplace_back();
  for (std::size_t i = 1; i < p.nodes.size(); ++i) {
    if (!used[i]) continue;
    const auto [parent, location] = p.nodes[i];
    if (location != none && new_location[location] == none) {
      new_location[location] = static_cast<std::uint32_t>(result.locations.size());
      result.locations.push_back(p.locations[location]);
    }
    new_node[i] = static_cast<std::uint32_t>(result.nodes.size());
    result.nodes.push_back({new_node[parent], location == none ? none : new_location[location]});
  }
  if (result.leaks)
    for (auto& leak : result.leaks->entries) leak.node = leak.pool ? new_node[leak.node] : 0;
  for (const auto& stack : p.stacks) {
    if (ids.count(stack.id) == 0) continue;
    result.stacks.push_back(stack);
    result.stacks.back().node = new_node[stack.node];
  }
  return result;
}

profile without_stacks(const profile& p) {
  profile result;
  result.strings = p.strings;
  result.frames = p.frames;
  result.modules = p.modules;
  result.locations = p.locations;
  result.nodes = p.nodes;
  return result;
}

}  // namespace heapledger::analyse
