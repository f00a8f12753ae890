#include "tool/diff/rank.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "tool/analyse/machinery.hpp"

namespace heapledger::diff {
namespace {

// Growth before what shrank, then by size.
bool comes_first(std::int64_t a, std::int64_t b) {
  if ((a > 0) != (b > 0)) return a > 0;
  return a > 0 ? a > b : a < b;
}

}  // namespace

kind kind_of(const stack_change& change, analyse::measure by) {
  const std::int64_t changed = difference(change.before, change.after, by);
  if (changed == 0) return kind::same;
  if (change.stacks_before == 0) return kind::appeared;
  if (change.stacks_after == 0) return kind::vanished;
  return changed > 0 ? kind::grew : kind::shrank;
}

std::vector<std::uint32_t> rank_changes(const comparison& compared, analyse::measure by) {
  std::vector<std::uint32_t> order;
  const auto& stacks = compared.stacks();
  for (std::uint32_t i = 0; i < stacks.size(); ++i) {
    if (!(stacks[i].before == stacks[i].after)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return comes_first(difference(stacks[a].before, stacks[a].after, by),
                       difference(stacks[b].before, stacks[b].after, by));
  });
  return order;
}

std::vector<place_change> rank_places(const comparison& compared, analyse::measure by) {
  std::vector<place_change> places;
  std::unordered_map<std::uint64_t, std::size_t> known;
  analyse::machinery before(compared.before());
  analyse::machinery after(compared.after());
  const auto& stacks = compared.stacks();
  for (const std::uint32_t index : rank_changes(compared, by)) {
    const stack_change& change = stacks[index];
    analyse::machinery& machinery = &compared.shown_in(change) == &compared.after() ? after : before;
    const std::optional<std::uint32_t> frame = compared.place_of(change, machinery);
    const auto [found, added] = known.try_emplace(frame ? *frame : UINT64_MAX, places.size());
    if (added) places.push_back({frame, {}, {}, {}});
    place_change& place = places[found->second];
    place.before += change.before;
    place.after += change.after;
    if (difference(change.before, change.after, by) != 0) place.stacks.push_back(index);
  }
  std::erase_if(places, [&](const place_change& place) { return difference(place.before, place.after, by) == 0; });
  for (auto& place : places) {
    std::stable_sort(place.stacks.begin(), place.stacks.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::int64_t left = difference(stacks[a].before, stacks[a].after, by);
      const std::int64_t right = difference(stacks[b].before, stacks[b].after, by);
      return std::abs(left) > std::abs(right);
    });
  }
  std::stable_sort(places.begin(), places.end(), [&](const place_change& a, const place_change& b) {
    return comes_first(difference(a.before, a.after, by), difference(b.before, b.after, by));
  });
  return places;
}

}  // namespace heapledger::diff
