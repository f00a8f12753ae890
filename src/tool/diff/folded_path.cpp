#include "tool/diff/folded_path.hpp"

#include <algorithm>

#include "tool/analyse/depth_first.hpp"

namespace heapledger::diff {

void starting_frames::add(frame_role role) {
  if (!goes_on_) return;
  ++seen_;
  if (role == frame_role::start) count_ = seen_;
  goes_on_ = role != frame_role::ordinary && seen_ - count_ <= nameless_start_frames;
}

void folded_path::push(std::uint32_t frame, frame_role role) {
  const std::uint32_t here = length();
  step next;
  if (here != 0) next.outside = steps_.back().outside;
  next.frame = frame;
  next.outside.add(role);
  steps_.push_back(next);
  const std::uint32_t begin = next.outside.count();
  if (here < begin) return;

  step& added = steps_.back();
  std::uint32_t cycle = 0;
  std::uint32_t covered = 1;
  for (std::uint32_t length = 1; length <= analyse::longest_cycle && begin + length <= here; ++length) {
    if (steps_[here - length].frame != frame) continue;
    const std::uint32_t equal = added.equal[length - 1] = steps_[here - 1].equal[length - 1] + 1;
    const std::uint32_t run = length * (1 + equal / length);
    if (equal < length || run <= covered) continue;
    cycle = length;
    covered = run;
  }
  // By what stands outside of the run, and the run once.
  if (begin + covered <= here) added.hash = steps_[here - covered].hash;
  added.hash.add(cycle);
  for (std::uint32_t i = cycle == 0 ? 1 : cycle; i-- > 0;) added.hash.add(steps_[here - i].frame);
}

analyse::path_hash folded_path::hash() const {
  if (steps_.empty()) return {};
  if (steps_.back().outside.count() < length()) return steps_.back().hash;
  folded_path whole;  // nothing but what starts threads
  for (const step& each : steps_) whole.push(each.frame, frame_role::ordinary);
  return whole.hash();
}

std::vector<analyse::path_hash> folded_hashes(const profile& p, std::span<const std::uint32_t> first,
                                              std::span<const std::uint32_t> frames,
                                              std::span<const frame_role> roles) {
  const std::size_t count = std::max<std::size_t>(p.nodes.size(), 1);  // without nodes, stacks are of no frames
  std::vector<bool> has_stack(count);
  for (const stack_entry& stack : p.stacks) has_stack[stack.node] = true;
  std::vector<analyse::path_hash> hashes(count);
  std::vector<std::uint32_t> length(count);
  folded_path path;
  for (const std::uint32_t node : analyse::depth_first(p.nodes)) {
    path.cut(length[p.nodes[node].parent]);
    if (const std::uint32_t location = p.nodes[node].location; node != 0 && location != none) {
      for (std::uint32_t i = first[location + 1]; i-- > first[location];) path.push(frames[i], roles[frames[i]]);
    }
    length[node] = path.length();
    if (has_stack[node]) hashes[node] = path.hash();
  }
  return hashes;
}

}  // namespace heapledger::diff
