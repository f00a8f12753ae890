#include "tool/profile/check_depths.hpp"

#include <string>
#include <vector>

#include "tool/profile/container.hpp"

namespace heapledger::format {
namespace {

void check_path(const std::vector<std::string>& path) {
  if (path.size() > max_scope_depth) throw damage("its scopes are nested deeper than any that heapledger writes");
}

class frame_counter {
 public:
  explicit frame_counter(const std::vector<stack_node>& nodes) : depths_(nodes.size()) {
    for (std::size_t i = 1; i < nodes.size(); ++i) depths_[i] = depths_[nodes[i].parent] + 1;
  }
  void add(std::uint32_t node) {
    frames_ += depths_[node];
    if (frames_ > max_stack_frames) throw damage("its stacks together are longer than anything can walk");
  }

 private:
  std::vector<std::uint32_t> depths_;
  std::uint64_t frames_ = 0;
};

}  // namespace

void check_depths(const profile& p) {
  for (const auto& stack : p.stacks) check_path(stack.scope);
  for (const auto& scope : p.scopes) check_path(scope.path);
  for (const auto& freer : p.freers) {
    check_path(freer.owner);
    check_path(freer.by);
  }
  frame_counter frames(p.nodes);
  for (const auto& stack : p.stacks) frames.add(stack.node);
  for (const auto& pool : p.pools)
    for (const auto& site : pool.sites) frames.add(site.node);
  if (p.mapped)
    for (const auto& site : p.mapped->sites) frames.add(site.node);
  for (const auto& error : p.errors) frames.add(error.freed_node);
}

}  // namespace heapledger::format
