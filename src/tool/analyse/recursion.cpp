#include "tool/analyse/recursion.hpp"

namespace heapledger::analyse {
namespace {

struct repetition {
  std::size_t length = 1;
  std::size_t times = 1;
  std::size_t covered() const { return times > 1 ? length * times : 0; }
};

// The run at the front that covers most frames; of equals the shortest.
repetition longest_repetition(std::span<const std::uint64_t> keys) {
  repetition best;
  for (std::size_t length = 1; length <= longest_cycle && 2 * length <= keys.size(); ++length) {
    // Frames that equal the one `length` before them, from the front on, make up the repetitions.
    std::size_t equal = 0;
    while (length + equal < keys.size() && keys[length + equal] == keys[equal]) ++equal;
    const repetition found{length, 1 + equal / length};
    if (found.covered() > best.covered()) best = found;
  }
  return best;
}

}  // namespace

std::vector<folded_frame> fold_recursion(std::span<const std::uint64_t> keys) {
  std::vector<folded_frame> folded;
  for (std::size_t i = 0; i < keys.size();) {
    const repetition run = longest_repetition(keys.subspan(i));
    for (std::size_t j = 0; j < run.length; ++j) folded.push_back({i + j, 0, 1});
    if (run.times > 1) {
      folded.back().cycle = static_cast<std::uint32_t>(run.length);
      folded.back().times = static_cast<std::uint32_t>(run.times);
    }
    i += run.length * run.times;
  }
  return folded;
}

}  // namespace heapledger::analyse
