#include "tool/analyse/caller_tree.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tool/analyse/recursion.hpp"

namespace heapledger::analyse {
namespace {

// Deep enough for every shown frame of a stack in recursion, small enough for a stack of millions of frames.
constexpr std::size_t frames_read_per_stack = 100'000;

class caller_tree_builder {
 public:
  caller_tree_builder(const profile& p, const caller_options& options) : profile_(p), options_(options) {}

  void add(std::span<const frame_ref> frames, const counters& count) {
    keys_.clear();
    for (const frame_ref& frame : frames) keys_.push_back(function_key(profile_, frame));
    folded_.clear();
    if (options_.fold) {
      folded_ = fold_recursion(keys_);
    } else {
      for (std::size_t i = 0; i < keys_.size(); ++i) folded_.push_back({i, 0, 1});
    }

    std::uint32_t node = 0;
    for (std::size_t level = 0; level < folded_.size(); ++level) {
      if (level > options_.depth) {
        auto& beyond = tree_.nodes[node].frames_beyond;
        beyond = std::max(beyond, static_cast<std::uint32_t>(folded_.size() - level));
        return;
      }
      const folded_frame& step = folded_[level];
      if (level == 0 && tree_.nodes.empty()) tree_.nodes.emplace_back();
      if (level > 0) node = child(node, keys_[step.index]);
      caller& here = tree_.nodes[node];
      if (here.frame.location == none) here.frame = frames[step.index];
      here.count += count;
      add_line(here, line_number(profile_, frames[step.index]));
      if (step.cycle != 0) {
        here.cycle = here.cycle == 0 ? step.cycle : std::min(here.cycle, step.cycle);
        here.times = std::max(here.times, step.times);
      }
    }
  }

  caller_tree finish() {
    for (caller& node : tree_.nodes) {
      std::sort(node.lines.begin(), node.lines.end());
      std::sort(node.children.begin(), node.children.end(), [&](std::uint32_t left, std::uint32_t right) {
        const std::int64_t a = value_of(tree_.nodes[left].count, options_.by);
        const std::int64_t b = value_of(tree_.nodes[right].count, options_.by);
        return a != b ? a > b : left < right;
      });
    }
    return std::move(tree_);
  }

 private:
  std::uint32_t child(std::uint32_t parent, std::uint64_t key) {
    const auto next = static_cast<std::uint32_t>(tree_.nodes.size());
    const auto [found, added] = children_.try_emplace({parent, key}, next);
    if (added) {
      tree_.nodes.emplace_back();
      tree_.nodes[parent].children.push_back(next);
    }
    return found->second;
  }

  static void add_line(caller& here, std::uint32_t line) {
    if (line == 0 || std::find(here.lines.begin(), here.lines.end(), line) != here.lines.end()) return;
    if (here.lines.size() == lines_kept) {
      here.more_lines = true;
    } else {
      here.lines.push_back(line);
    }
  }

  const profile& profile_;
  const caller_options options_;
  caller_tree tree_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> children_;
  std::vector<std::uint64_t> keys_;
  std::vector<folded_frame> folded_;
};

// Values and the stacks that have them.
using valued_stacks = std::vector<std::pair<std::int64_t, std::uint32_t>>;

// Of what leaks, a caller that frees all of its own is none, and its line would lead astray. Where all stacks have
// nothing they stay.
void drop_those_of_nothing(valued_stacks& stacks) {
  const auto is_nothing = [](const auto& stack) { return stack.first == 0; };
  if (!std::all_of(stacks.begin(), stacks.end(), is_nothing)) std::erase_if(stacks, is_nothing);
}

// Of stacks, what matters of each; and what was left out within the first.
class callers_builder {
 public:
  callers_builder(const profile& p, machinery& machinery, const caller_options& options)
      : profile_(p), machinery_(machinery), fold_(options.fold), tree_(p, options) {}

  void add(std::uint32_t node, const counters& count) {
    const auto frames = expand_stack(profile_, node, frames_read_per_stack);
    const visible_frames shown = machinery_.visible(frames);
    const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(shown.begin);
    if (std::exchange(is_first_, false)) left_out_.assign(frames.begin(), begin);
    kept_.assign(begin, frames.begin() + static_cast<std::ptrdiff_t>(shown.end));
    // A stack of nothing else is shown as it is.
    if (fold_ && !kept_.empty() && !machinery_.is_rust(kept_.front()))
      std::erase_if(kept_, [&](const frame_ref& frame) { return machinery_.is_rust(frame); });
    tree_.add(kept_, count);
  }

  caller_tree finish() {
    caller_tree tree = tree_.finish();
    tree.left_out = std::move(left_out_);
    return tree;
  }

 private:
  const profile& profile_;
  machinery& machinery_;
  bool fold_;
  bool is_first_ = true;
  caller_tree_builder tree_;
  std::vector<frame_ref> left_out_, kept_;
};

}  // namespace

caller_tree build_callers(const profile& p, const site& site, machinery& machinery, const caller_options& options) {
  // With their values, which lie far apart in memory: a site can have a million stacks.
  valued_stacks order;
  order.reserve(site.stacks.size());
  for (const std::uint32_t index : site.stacks) order.emplace_back(value_of(p.stacks[index].count, options.by), index);
  std::sort(order.begin(), order.end(), [](const auto& left, const auto& right) {
    return left.first != right.first ? left.first > right.first : left.second < right.second;
  });
  drop_those_of_nothing(order);
  callers_builder builder(p, machinery, options);
  for (const auto& [value, index] : order) builder.add(p.stacks[index].node, p.stacks[index].count);
  return builder.finish();
}

caller_tree build_stack(const profile& p, std::uint32_t node, machinery& machinery) {
  callers_builder builder(p, machinery, {});
  builder.add(node, {});
  return builder.finish();
}

}  // namespace heapledger::analyse
