#include "tool/leaks/stack_choice.hpp"

#include <algorithm>

#include "tool/analyse/frames.hpp"
#include "tool/leaks/suppressions.hpp"

namespace heapledger::leaks {

std::vector<bool> stacks_with(const profile& p, std::span<const std::string> patterns) {
  // Each string once: the same functions are in most stacks.
  const auto strings_by = [&](auto matches) {
    std::vector<bool> found(p.strings.size());
    for (std::uint32_t i = 0; i < p.strings.size(); ++i)
      found[i] = std::any_of(patterns.begin(), patterns.end(),
                             [&](const auto& pattern) { return matches(pattern, analyse::text(p, i)); });
    return found;
  };
  const auto files = strings_by(pattern_matches);
  const auto functions = strings_by(pattern_matches_function);
  const auto has = [](const std::vector<bool>& strings, std::uint32_t string_index) {
    return string_index != none && strings[string_index];
  };
  const auto any_symbol = [&](const location& place) {
    return std::any_of(place.symbols.begin(), place.symbols.end(), [&](auto symbol) {
      return has(functions, p.frames[symbol].function) || has(files, p.frames[symbol].file);
    });
  };
  const auto in_module = [&](const location& place) {
    return place.module != none && std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
             return pattern_matches(pattern, p.modules[place.module].path);
           });
  };
  const auto at_address = [&](const location& place) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const auto& pattern) { return pattern_matches_address(pattern, p, place); });
  };
  std::vector<bool> locations(p.locations.size());
  for (std::size_t i = 0; i < p.locations.size(); ++i)
    locations[i] = any_symbol(p.locations[i]) || in_module(p.locations[i]) || at_address(p.locations[i]);

  std::vector<bool> nodes(p.nodes.size());
  for (std::size_t i = 1; i < p.nodes.size(); ++i)
    nodes[i] = nodes[p.nodes[i].parent] || (p.nodes[i].location != none && locations[p.nodes[i].location]);
  std::vector<bool> result;
  for (const auto& stack : p.stacks) result.push_back(nodes[stack.node]);
  return result;
}

}  // namespace heapledger::leaks
