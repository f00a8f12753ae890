#include "tool/analyse/frames.hpp"

#include <fmt/format.h>

namespace heapledger::analyse {

std::string address_name(const profile& p, const location& place) {
  if (place.module == none) return fmt::format("0x{:x}", place.address);
  const std::string& path = p.modules[place.module].path;
  const std::size_t slash = path.rfind('/');
  return fmt::format("{}+0x{:x}", path.substr(slash == std::string::npos ? 0 : slash + 1), place.address);
}

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
