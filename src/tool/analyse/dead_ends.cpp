#include "tool/analyse/dead_ends.hpp"

#include <algorithm>
#include <vector>

namespace heapledger::analyse {
namespace {

std::vector<std::uint32_t> outermost_locations(const profile& p) {
  std::vector<std::uint32_t> result(p.nodes.size(), none);  // by node
  for (std::uint32_t node = 1; node < p.nodes.size(); ++node) {
    const stack_node& each = p.nodes[node];
    result[node] = each.parent == 0 ? each.location : result[each.parent];
  }
  return result;
}

bool begins_fiber(const profile& p, const location& place) {
  return std::any_of(place.symbols.begin(), place.symbols.end(), [&](std::uint32_t frame) {
    const auto function = p.frames[frame].function;
    return function != none && p.strings[function] == "make_fcontext";
  });
}

}  // namespace

dead_ends find_dead_ends(const profile& p) {
  dead_ends result;
  if (p.process.stacks != "dwarf") return result;
  // Else the probe walked each stack to its first function. A fork does not count again what its parent met.
  if (!p.process.forked && !p.profiler.losses.contains("stack_cut_no_rule")) return result;
  const auto outermost = outermost_locations(p);
  std::vector<std::uint64_t> bytes(p.modules.size() + 1);  // the last: generated code
  std::size_t most = p.modules.size();
  for (const stack_entry& stack : p.stacks) {
    const std::uint32_t place = outermost[stack.node];
    if (place == none) continue;
    const std::uint32_t module = p.locations[place].module;
    if (module != none && (!p.locations[place].lacks_rule || begins_fiber(p, p.locations[place]))) continue;
    result.count += stack.count;
    const std::size_t ends = module == none ? p.modules.size() : module;
    bytes[ends] += stack.count.allocated_bytes;
    if (bytes[ends] > bytes[most]) most = ends;
  }
  if (most < p.modules.size()) result.module = static_cast<std::uint32_t>(most);
  return result;
}

std::uint64_t count_fiber_stacks(const profile& p) {
  const auto outermost = outermost_locations(p);
  return static_cast<std::uint64_t>(std::count_if(p.stacks.begin(), p.stacks.end(), [&](const stack_entry& stack) {
    const auto place = outermost[stack.node];
    return place != none && begins_fiber(p, p.locations[place]);
  }));
}

}  // namespace heapledger::analyse
