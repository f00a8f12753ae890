#include "tool/analyse/error_places.hpp"

#include <algorithm>
#include <unordered_map>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/groups.hpp"
#include "tool/analyse/mismatches.hpp"

namespace heapledger::analyse {
namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

struct counted_stack {
  std::uint32_t stack;
  std::uint64_t count;
};

// What one kind of errors is gathered in.
struct gathering {
  error_kind kind;
  std::unordered_map<std::uint64_t, std::size_t> place_of;  // by place_key
  std::vector<std::vector<counted_stack>> stacks;           // of each place
};

std::uint64_t key_of(const profile& p, machinery& machinery, std::uint32_t node) {
  const std::size_t first = machinery.first_visible(node);
  const auto frames = expand_stack(p, node, first + 1);
  return frames.empty() ? nowhere : place_key(p, frames.back());
}

template <class T>
void most_first(std::vector<T>& of) {
  std::stable_sort(of.begin(), of.end(), [](const T& a, const T& b) { return a.count > b.count; });
}

error_kind finished(gathering&& of) {
  for (std::size_t i = 0; i < of.stacks.size(); ++i) {
    most_first(of.stacks[i]);
    for (const counted_stack& each : of.stacks[i]) of.kind.places[i].stacks.push_back(each.stack);
  }
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
  for (const auto& [error, doubt] : errors) {
    auto in = std::find_if(kinds.begin(), kinds.end(), [&error = error, doubt = doubt](const gathering& each) {
      return each.kind.kind == error.kind && each.kind.doubt == doubt;
    });
    if (in == kinds.end()) {
      in = kinds.insert(in, gathering{});
      in->kind.kind = error.kind;
      in->kind.doubt = doubt;
    }
    const auto stack = by_id.find(error.stack);
    const bool known = stack != by_id.end();
    const std::uint64_t key = known ? key_of(p, machinery, p.stacks[stack->second].node) : nowhere;
    const auto [place, added] = in->place_of.try_emplace(key, in->kind.places.size());
    if (added) {
      in->kind.places.emplace_back();
      in->stacks.emplace_back();
    }
    in->kind.count += error.count;
    in->kind.places[place->second].count += error.count;
    if (known) in->stacks[place->second].push_back({stack->second, error.count});
  }
  std::vector<error_kind> all;
  for (gathering& each : kinds) all.push_back(finished(std::move(each)));
  return all;
}

}  // namespace heapledger::analyse
