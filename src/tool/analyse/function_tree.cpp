#include "tool/analyse/function_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tool/analyse/depth_first.hpp"
#include "tool/analyse/frames.hpp"
#include "tool/analyse/groups.hpp"
#include "tool/analyse/known_paths.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/profile/pair_index.hpp"

namespace heapledger::analyse {
namespace {

class function_tree_builder {
 public:
  explicit function_tree_builder(const profile& p)
      : p_(p),
        machinery_(p),
        lines_of_location_(p.locations.size()),
        known_(std::in_place, p),
        place_index_(std::in_place, p.nodes.size()),
        node_index_(std::in_place, p.nodes.size()) {
    tree_.nodes.push_back({});
    tree_.places.push_back({});
    place_nodes_.push_back(0);
  }

  function_tree build() {
    for (const auto& stack : p_.stacks) tree_.stack_places.push_back(place_of(stack));
    // The indices are half of the memory, and done with.
    known_.reset();
    place_index_.reset();
    node_index_.reset();
    order_lines();
    order_nodes();
    return std::move(tree_);
  }

 private:
  std::uint32_t place_of(const stack_entry& stack) {
    return known_->follow(scope_place(stack.scope), stack.node, [&](std::uint32_t place, std::uint32_t location) {
      for (const std::uint32_t line : lines_of(location)) place = child_place(place, line);
      return place;
    });
  }

  std::uint32_t scope_place(const std::vector<std::string>& scope) {
    if (scope.empty()) return 0;
    const auto [found, added] = scopes_.try_emplace(scope, 0);
    if (!added) return found->second;
    std::uint32_t place = 0;
    for (const auto& name : scope) {
      const auto [function, is_new] = scope_functions_.try_emplace(name, tree_.functions.size());
      if (is_new) tree_.functions.push_back({function_kind::scope, name, none});
      place = child_place(place, line_index({.function = function->second}));
    }
    return found->second = place;
  }

  std::uint32_t child_place(std::uint32_t parent, std::uint32_t line) {
    if (++steps_ > most_steps) throw std::length_error("the stacks of this profile are too many for one tree");
    const auto place = place_index_->find_or_add(parent, line, tree_.places.size());
    if (!place.is_new) return place.number;
    const std::uint32_t outer = place_nodes_[parent];
    const std::uint32_t function = tree_.lines[line].function;
    const auto node = node_index_->find_or_add(outer, function, tree_.nodes.size());
    if (node.is_new) tree_.nodes.push_back({outer, tree_.nodes[outer].depth + 1, function, 0});
    tree_.places.push_back({parent, line});
    place_nodes_.push_back(node.number);
    return place.number;
  }

  // Outermost first.
  const std::vector<std::uint32_t>& lines_of(std::uint32_t index) {
    auto& lines = lines_of_location_[index];
    if (!lines.empty()) return lines;
    const auto& symbols = p_.locations[index].symbols;
    if (symbols.empty()) lines.push_back(line_of({index, none, false}));
    for (std::size_t i = symbols.size(); i-- > 0;)
      lines.push_back(line_of({index, symbols[i], i + 1 < symbols.size()}));
    return lines;
  }

  std::uint32_t line_of(const frame_ref& frame) {
    const auto [function, added] = function_index_.try_emplace(function_key(p_, frame), tree_.functions.size());
    if (added) {
      const std::string_view name = function_name(p_, frame);
      const bool named = frame.symbol != none && p_.frames[frame.symbol].function != none && !name.empty();
      tree_.functions.push_back({named ? function_kind::named : function_kind::address,
                                 named ? std::string(name) : address_name(p_, p_.locations[frame.location]),
                                 module_index(p_, frame)});
    }
    return line_index({.function = function->second,
                       .file = frame.symbol == none ? none : p_.frames[frame.symbol].file,
                       .line = line_number(p_, frame),
                       .inlined = frame.inlined,
                       .machinery = machinery_.is_wrapper(frame) || machinery_.is_start(frame)});
  }

  std::uint32_t line_index(const tree_line& line) {
    const auto key = std::tuple(line.function, line.file, line.line, line.inlined);
    const auto [found, added] = line_index_.try_emplace(key, tree_.lines.size());
    if (added) tree_.lines.push_back(line);
    return found->second;
  }

  void order_lines() {
    std::vector<std::uint32_t> order(tree_.lines.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
      return tree_.lines[left].function < tree_.lines[right].function;
    });
    std::vector<tree_line> lines;
    std::vector<std::uint32_t> moved(order.size());
    for (const std::uint32_t old : order) {
      moved[old] = static_cast<std::uint32_t>(lines.size());
      lines.push_back(tree_.lines[old]);
    }
    tree_.lines = std::move(lines);
    for (auto& place : tree_.places) {
      if (place.line != none) place.line = moved[place.line];
    }
  }

  // Children in the order in which they were met: stacks are numbered by their first allocation, so both orders agree.
  void order_nodes() {
    const auto order = depth_first(tree_.nodes);
    std::vector<std::uint32_t> moved(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) moved[order[i]] = static_cast<std::uint32_t>(i);
    std::vector<tree_node> nodes(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      nodes[i] = tree_.nodes[order[i]];
      nodes[i].parent = moved[nodes[i].parent];
    }
    for (const std::uint32_t old : place_nodes_) ++nodes[moved[old]].first_place;  // how many, for now
    std::uint32_t before = 0;
    for (auto& node : nodes) before += std::exchange(node.first_place, before);

    std::vector<std::uint32_t> filled(nodes.size());
    std::vector<std::uint32_t> new_place(tree_.places.size());
    for (std::size_t i = 0; i < tree_.places.size(); ++i) {
      const std::uint32_t node = moved[place_nodes_[i]];
      new_place[i] = nodes[node].first_place + filled[node]++;
    }
    std::vector<tree_place> places(tree_.places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[new_place[i]] = {new_place[tree_.places[i].parent], tree_.places[i].line};
    }
    for (auto& place : tree_.stack_places) place = new_place[place];
    tree_.nodes = std::move(nodes);
    tree_.places = std::move(places);
  }

  const profile& p_;
  std::size_t steps_ = 0;
  machinery machinery_;
  function_tree tree_;
  std::vector<std::vector<std::uint32_t>> lines_of_location_;
  std::vector<std::uint32_t> place_nodes_;  // by place
  std::optional<known_paths> known_;        // to places
  std::map<std::vector<std::string>, std::uint32_t> scopes_;
  std::map<std::string, std::uint32_t> scope_functions_;
  std::unordered_map<std::uint64_t, std::uint32_t> function_index_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>, std::uint32_t> line_index_;
  std::optional<pair_index> place_index_;  // by parent and line
  std::optional<pair_index> node_index_;   // by parent and function
};

}  // namespace

function_tree build_function_tree(const profile& p) {
  return function_tree_builder(p).build();
}

}  // namespace heapledger::analyse
