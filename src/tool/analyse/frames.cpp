#include "tool/analyse/frames.hpp"

namespace heapledger::analyse {

std::vector<frame_ref> expand_stack(const profile& p, std::uint32_t node, std::size_t limit) {
  std::vector<frame_ref> frames;
  walk_stack(p, node, [&](const frame_ref& frame) {
    if (frames.size() == limit) return false;
    frames.push_back(frame);
    return true;
  });
  return frames;
}

}  // namespace heapledger::analyse
