#include "tool/export/massif_tree.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "tool/export/place_text.hpp"

namespace heapledger::exports {
namespace {

// Massif's own, which its readers are made for. What is below the threshold is still in every sum.
constexpr double threshold_percent = 1.0;
constexpr std::size_t deepest = 64;

struct weighed_stack {
  const stack_entry* stack = nullptr;
  std::int64_t value = 0;
  // What comes next, outward: a symbol of a node's location, then of its parent's, then the scopes, innermost first.
  std::uint32_t node = 0;
  std::uint32_t symbol = 0;
  std::size_t scopes = 0;
};

using weighed_stacks = std::vector<weighed_stack>;

struct branch {
  std::int64_t value = 0;
  std::string text;
  weighed_stacks stacks;
};

class tree_writer {
 public:
  tree_writer(const profile& p, safe_names& names, text_out& text) : p_(p), names_(names), text_(text) {}

  // What the stacks lack of the total is in places that are too small.
  void write(weighed_stacks stacks, std::int64_t total) {
    smallest_ = static_cast<double>(total) * threshold_percent / 100;
    unknown_ = total;
    for (const auto& stack : stacks) unknown_ -= stack.value;
    branch root;
    root.value = total;
    root.text = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
    root.stacks = std::move(stacks);
    write_branch(std::move(root), 0);
  }

 private:
  using place = std::pair<std::uint64_t, std::uint64_t>;  // location and symbol, or a scope's name
  static constexpr std::uint64_t scope_place = UINT64_MAX;

  void write_branch(branch here, std::size_t depth) {
    std::vector<branch> children;
    std::int64_t small = 0;
    std::size_t small_places = 0;
    if (depth == 0 && unknown_ > 0) {
      small = unknown_;
      small_places = 1;
    }
    if (depth < deepest) {
      for (auto& [key, child] : split(std::move(here.stacks))) {
        if (static_cast<double>(child.value) >= smallest_) {
          children.push_back(std::move(child));
        } else {
          small += child.value;
          ++small_places;
        }
      }
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const branch& a, const branch& b) { return a.value > b.value; });
    const std::string indent(depth, ' ');
    text_.add("{}n{}: {} {}\n", indent, children.size() + (small_places != 0 ? 1 : 0), here.value, here.text);
    for (auto& child : children) write_branch(std::move(child), depth + 1);
    if (small_places == 1) {
      text_.add("{} n0: {} in 1 place, below massif's threshold ({:.2f}%)\n", indent, small, threshold_percent);
    } else if (small_places != 0) {
      text_.add("{} n0: {} in {} places, all below massif's threshold ({:.2f}%)\n", indent, small, small_places,
                threshold_percent);
    }
  }

  // By their next frame; a stack that ends here is in no branch.
  std::map<place, branch> split(weighed_stacks stacks) {
    std::map<place, branch> branches;
    for (weighed_stack& stack : stacks) {
      while (stack.node != 0 && p_.nodes[stack.node].location == none) stack.node = p_.nodes[stack.node].parent;
      place key;
      analyse::frame_ref frame;
      if (stack.node != 0) {
        frame.location = p_.nodes[stack.node].location;
        const auto& symbols = p_.locations[frame.location].symbols;
        if (stack.symbol < symbols.size()) frame.symbol = symbols[stack.symbol];
        key = {frame.location, stack.symbol};
        if (++stack.symbol >= symbols.size()) {
          stack.symbol = 0;
          stack.node = p_.nodes[stack.node].parent;
        }
      } else if (stack.scopes != 0) {
        --stack.scopes;
        const auto found = scopes_.try_emplace(stack.stack->scope[stack.scopes], scopes_.size()).first;
        key = {scope_place, found->second};
      } else {
        continue;
      }
      branch& target = branches[key];
      if (target.text.empty()) {
        target.text = massif_text(key.first == scope_place ? "0x0: " + scope_frame(stack.stack->scope[stack.scopes])
                                                           : place_text(p_, names_, frame));
      }
      target.value += stack.value;
      target.stacks.push_back(stack);
    }
    return branches;
  }

  const profile& p_;
  safe_names& names_;
  text_out& text_;
  double smallest_ = 0;
  std::int64_t unknown_ = 0;
  std::map<std::string, std::uint64_t> scopes_;
};

}  // namespace

std::string massif_text(std::string text) {
  std::replace(text.begin(), text.end(), '#', ':');
  return text;
}

std::int64_t massif_total(const profile& p, analyse::measure by) {
  std::int64_t total = 0;
  for (const auto& stack : p.stacks) total += std::max<std::int64_t>(analyse::value_of(stack.count, by), 0);
  return total;
}

void write_massif_tree(const profile& p, safe_names& names, analyse::measure by, text_out& text) {
  weighed_stacks stacks;
  for (const auto& stack : p.stacks) {
    const std::int64_t value = analyse::value_of(stack.count, by);
    if (value > 0) stacks.push_back({&stack, value, stack.node, 0, stack.scope.size()});
  }
  tree_writer(p, names, text).write(std::move(stacks), massif_total(p, by));
}

void write_massif_tree_at(const profile& p, safe_names& names, std::int64_t time_ns, std::int64_t total,
                          text_out& text) {
  weighed_stacks stacks;
  for (const auto& row : p.stack_timeline) {
    if (row.time_ns != time_ns || row.live_bytes <= 0) continue;
    const auto& stack = p.stacks[row.stack];
    stacks.push_back({&stack, row.live_bytes, stack.node, 0, stack.scope.size()});
  }
  tree_writer(p, names, text).write(std::move(stacks), total);
}

}  // namespace heapledger::exports
