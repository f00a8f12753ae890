#include "tool/analyse/error_places.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/groups.hpp"
#include "tool/analyse/mismatches.hpp"

namespace heapledger::analyse {
namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

struct gathered_place {
  std::uint64_t count = 0;
  std::map<std::uint32_t, std::uint64_t> stacks, freers;  // how often each
};

// What one kind of errors is gathered in.
struct gathering {
  error_kind kind;
  std::unordered_map<std::uint64_t, std::size_t> place_of;  // by place_key
  std::vector<gathered_place> places;

  bool takes(const judged_error& judged) const {
    const auto& [error, doubt] = judged;
    return kind.kind == error.kind && kind.doubt == doubt && kind.allocated_by == error.allocated_by &&
           kind.freed_by == error.freed_by;
  }
  gathered_place& at(std::uint64_t key) {
    const auto [place, added] = place_of.try_emplace(key, places.size());
    if (added) places.emplace_back();
    return places[place->second];
  }
};

gathering& gathering_of(std::vector<gathering>& kinds, const judged_error& judged) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const gathering& each) { return each.takes(judged); });
  if (found != kinds.end()) return *found;
  gathering& fresh = kinds.emplace_back();
  const auto& [error, doubt] = judged;
  fresh.kind.kind = error.kind;
  fresh.kind.allocated_by = error.allocated_by;
  fresh.kind.freed_by = error.freed_by;
  fresh.kind.doubt = doubt;
  return fresh;
}

std::uint64_t key_of(const profile& p, machinery& machinery, std::uint32_t node) {
  const std::size_t first = machinery.first_visible(node);
  const auto frames = expand_stack(p, node, first + 1);
  return frames.empty() ? nowhere : place_key(p, frames.back());
}

template <class T>
void most_first(std::vector<T>& of) {
  std::stable_sort(of.begin(), of.end(), [](const T& a, const T& b) { return a.count > b.count; });
}

std::vector<counted_index> listed(const std::map<std::uint32_t, std::uint64_t>& of) {
  std::vector<counted_index> list;
  for (const auto& [index, count] : of) list.push_back({index, count});
  most_first(list);
  return list;
}

error_kind finished(gathering&& of) {
  for (const gathered_place& place : of.places)
    of.kind.places.push_back({place.count, listed(place.stacks), listed(place.freers)});
  most_first(of.kind.places);
  return std::move(of.kind);
}

}  // namespace

std::vector<error_kind> error_kinds(const profile& p, machinery& machinery) {
  const auto errors = judged_errors(p);
  std::vector<gathering> kinds;
  if (errors.empty()) return {};
  std::unordered_map<std::uint32_t, std::uint32_t> by_id;
  for (std::uint32_t i = 0; i < p.stacks.size(); ++i)
    if (p.stacks[i].node != 0) by_id.try_emplace(p.stacks[i].id, i);
  for (const auto& judged : errors) {
    const error_entry& error = judged.error;
    gathering& in = gathering_of(kinds, judged);
    const auto stack = by_id.find(error.stack);
    const bool known = stack != by_id.end();
    gathered_place& place = in.at(known ? key_of(p, machinery, p.stacks[stack->second].node) : nowhere);
    in.kind.count += error.count;
    place.count += error.count;
    if (known) place.stacks[stack->second] += error.count;
    if (error.freed_node != 0) place.freers[error.freed_node] += error.count;
  }
  std::vector<error_kind> all;
  for (gathering& each : kinds) all.push_back(finished(std::move(each)));
  return all;
}

}  // namespace heapledger::analyse
