// From a remembered stack to its path and its node in the stack tree: off the fast path, for stacks not met before.
#include "probe/publish/stack_tree.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {

// With a depth limit the innermost frames count from the root, so that every depth has nodes of its own.
std::uint64_t stack_walk::limited_path() const {
  std::uint64_t path = root_path;
  for (const known_frame* frame = outermost_counted(); frame <= top_; ++frame) path = path_below(path, frame->pc);
  return path;
}

void stack_walk::prefetch_node() const {
  const known_frame* frame = top_;
  for (std::uint32_t i = 0; i < stack_tree::descend_limit && frame > kept_; ++i, --frame) tree.prefetch(frame->pc);
}

std::uint32_t stack_walk::append_node(std::uint32_t node_before) const {
  const auto count = static_cast<std::uint64_t>(top_ - kept_);
  if (depth_limit_ != 0 || count == 0 || count > stack_tree::descend_limit) return 0;
  if (kept_ != root() && (node_before == 0 || before_ - kept_ > most_steps_out)) return 0;
  // With no room for some stack's nodes its account has a shorter one.
  if (segment.header->losses[static_cast<std::size_t>(wire::loss::nodes_full)] != 0) return 0;
  std::uint32_t parent = 0;
  if (kept_ != root()) {
    parent = node_before;
    for (auto out = before_ - kept_; out > 0; --out) parent = segment.nodes[parent].parent;
  }
  std::uint64_t pcs[stack_tree::descend_limit];
  for (std::uint64_t i = 0; i < count; ++i) pcs[i] = kept_[i + 1].pc;
  return tree.append(parent, pcs, static_cast<std::uint32_t>(count));
}

std::uint32_t stack_walk::node() {
  known_frame* next = outermost_counted();
  if (depth_limit_ == 0)
    for (next = top_ + 1; next != root() + 1 && next[-1].node == 0;) --next;
  std::uint32_t node = depth_limit_ == 0 ? next[-1].node : 0;
  std::uint64_t path = depth_limit_ == 0 ? next[-1].path : root_path;
  constexpr std::uint32_t batch = stack_tree::descend_limit;
  stack_step steps[batch];
  std::uint32_t nodes[batch];
  while (next <= top_) {
    const auto left = static_cast<std::uint64_t>(top_ + 1 - next);
    const std::uint32_t count = left < batch ? static_cast<std::uint32_t>(left) : batch;
    for (std::uint32_t i = 0; i < count; ++i) steps[i] = {next[i].pc, path = path_below(path, next[i].pc)};
    tree.descend(node, steps, nodes, count);
    node = nodes[count - 1];
    for (std::uint32_t i = 0; depth_limit_ == 0 && i < count; ++i) next[i].node = nodes[i];
    next += count;
  }
  return node;
}

}  // namespace heapledger::probe
