#include "tool/collect/stack_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tool/collect/times.hpp"
#include "tool/profile/pair_index.hpp"

namespace heapledger::collect {
namespace {

module_info to_module(const segment_copy& segment, const wire::module& module) {
  module_info info{.start = module.start,
                   .end = module.end,
                   .bias = module.bias,
                   .path = std::string(segment.text(module.path)),
                   .build_id = {},
                   .loaded_ns = since_start(segment.header, module.loaded_ns),
                   .unloaded_ns = {}};
  const std::size_t id_bytes = std::min<std::size_t>(module.build_id_bytes, wire::build_id_capacity);
  for (std::size_t i = 0; i < id_bytes; ++i) info.build_id += fmt::format("{:02x}", module.build_id[i]);
  if (module.unloaded_ns != 0) info.unloaded_ns = since_start(segment.header, module.unloaded_ns);
  return info;
}

location to_location(const std::vector<module_info>& modules, std::uint64_t where) {
  const bool exact = (where & wire::place_exact_address) != 0;
  const std::uint64_t address =
      (where & wire::place_address_mask & ~wire::place_exact_address) - (exact ? std::uint64_t{0} : 1);
  const std::uint64_t module = (where >> wire::place_module_shift) & wire::place_module_mask;
  location result;
  result.address = address;
  if (module != 0 && module <= modules.size()) {
    const auto& held = modules[module - 1];
    if (address >= held.start && address < held.end) {
      result.address = address - held.bias;
      result.module = static_cast<std::uint32_t>(module - 1);
    }
  }
  return result;
}

std::uint32_t parent_of(const segment_copy& segment, std::uint32_t node) {
  const std::uint32_t parent = segment.nodes[node].parent;
  return parent < node ? parent : 0;
}

// 0: none. A node that was handed out but not yet written has no place: its stack continues at its parent.
std::uint64_t where_is(const segment_copy& segment, const wire::node& node) {
  return node.place < segment.places.size() ? segment.places[node.place].where & ~wire::place_unloaded : 0;
}

// Where the probe hands an operator to the C++ library, it stands in the middle of a stack that is otherwise the
// program's.
bool is_probe(const segment_copy& segment, std::uint64_t where) {
  const std::uint64_t module = (where >> wire::place_module_shift) & wire::place_module_mask;
  return module != 0 && module <= segment.modules.size() && segment.modules[module - 1].is_probe != 0;
}

bool is_blank(std::uint64_t where) {
  return (where & wire::place_address_mask & ~wire::place_exact_address) == 0;
}

}  // namespace

std::vector<std::uint32_t> build_stack_tree(const segment_copy& segment, std::vector<std::uint32_t> innermost,
                                            profile& to) {
  for (const auto& module : segment.modules) to.modules.push_back(to_module(segment, module));

  std::vector<bool> used(segment.nodes.size());
  for (auto& node : innermost) {
    if (node >= segment.nodes.size()) node = 0;
    for (std::uint32_t at = node; at != 0 && !used[at]; at = parent_of(segment, at)) used[at] = true;
  }

  std::vector<std::uint32_t> place(segment.nodes.size() + 1, 0);
  std::unordered_map<std::uint64_t, std::uint32_t> locations;           // places may be several of one address
  std::vector<std::uint32_t> location_of(segment.places.size(), none);  // by place
  const auto expected = static_cast<std::size_t>(std::count(used.begin(), used.end(), true));
  pair_index nodes(expected);
  to.nodes.assign(1, stack_node{});
  to.nodes.reserve(expected + 1);
  for (std::uint32_t node = 1; node < segment.nodes.size(); ++node) {
    if (!used[node]) continue;
    const std::uint32_t parent = place[parent_of(segment, node)];
    const std::uint64_t where = where_is(segment, segment.nodes[node]);
    if (is_blank(where) || is_probe(segment, where)) {
      place[node] = parent;
      continue;
    }
    std::uint32_t& location = location_of[segment.nodes[node].place];
    if (location == none) {
      const auto [found, is_new] = locations.try_emplace(where, static_cast<std::uint32_t>(to.locations.size()));
      if (is_new) to.locations.push_back(to_location(to.modules, where));
      location = found->second;
    }
    // The probe does not look whether a node is there already.
    const auto known = nodes.find_or_add(parent, location, to.nodes.size());
    if (known.is_new) to.nodes.push_back({.parent = parent, .location = location});
    place[node] = known.number;
  }

  for (auto& node : innermost) node = place[node];
  return innermost;
}

}  // namespace heapledger::collect
