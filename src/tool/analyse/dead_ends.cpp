#include "tool/analyse/dead_ends.hpp"

#include <vector>

namespace heapledger::analyse {

dead_ends find_dead_ends(const profile& p) {
  dead_ends result;
  if (p.process.stacks != "dwarf") return result;
  // Else the probe walked each stack to its first function. A fork does not count again what its parent met.
  if (!p.process.forked && !p.profiler.losses.contains("stack_cut_no_rule")) return result;
  std::vector<std::uint32_t> outermost(p.nodes.size(), none);  // location, by node
  for (std::uint32_t node = 1; node < p.nodes.size(); ++node) {
    const stack_node& each = p.nodes[node];
    outermost[node] = each.parent == 0 ? each.location : outermost[each.parent];
  }
  std::vector<std::uint64_t> bytes(p.modules.size() + 1);  // the last: generated code
  std::size_t most = p.modules.size();
  for (const stack_entry& stack : p.stacks) {
    const std::uint32_t place = outermost[stack.node];
    if (place == none) continue;
    const std::uint32_t module = p.locations[place].module;
    if (module != none && !p.locations[place].lacks_rule) continue;
    result.count += stack.count;
    const std::size_t ends = module == none ? p.modules.size() : module;
    bytes[ends] += stack.count.allocated_bytes;
    if (bytes[ends] > bytes[most]) most = ends;
  }
  if (most < p.modules.size()) result.module = static_cast<std::uint32_t>(most);
  return result;
}

}  // namespace heapledger::analyse
