#include "tool/analyse/groups.hpp"

#include <algorithm>
#include <unordered_map>

namespace heapledger::analyse {
namespace {

constexpr std::uint64_t address_key = std::uint64_t{1} << 63;  // keeps locations apart from symbols

}  // namespace

std::uint64_t place_key(const profile& p, const frame_ref& frame) {
  // frame_info is one entry per (function, file, line), so its index says it all; without a line, so does the function.
  if (frame.symbol == none) return address_key | frame.location;
  return p.frames[frame.symbol].function == none ? address_key | frame.location : frame.symbol;
}

std::uint64_t function_key(const profile& p, const frame_ref& frame) {
  if (frame.symbol == none || p.frames[frame.symbol].function == none) return address_key | frame.location;
  const std::uint64_t module = module_index(p, frame);
  return (module & 0x7fffffff) << 32 | p.frames[frame.symbol].function;
}

std::vector<site> find_sites(const profile& p, machinery& machinery, const std::vector<bool>& left_out) {
  std::vector<site> sites;
  std::unordered_map<std::uint64_t, std::uint32_t> index;
  for (std::uint32_t i = 0; i < p.stacks.size(); ++i) {
    if (!left_out.empty() && left_out[i]) continue;
    const std::size_t first = machinery.first_visible(p.stacks[i].node);
    const auto frames = expand_stack(p, p.stacks[i].node, first + 1);
    const frame_ref frame = frames.empty() ? frame_ref{} : frames.back();
    const std::uint64_t key = frames.empty() ? ~std::uint64_t{0} : place_key(p, frame);
    const auto [found, added] = index.try_emplace(key, static_cast<std::uint32_t>(sites.size()));
    if (added) sites.push_back({frame, {}, {}});
    sites[found->second].count += p.stacks[i].count;
    sites[found->second].stacks.push_back(i);
  }
  return sites;
}

std::vector<std::uint32_t> rank_sites(const std::vector<site>& sites, measure by, std::size_t top) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    if (value_of(sites[i].count, by) > 0) order.push_back(i);
  }
  const auto before = [&](std::uint32_t left, std::uint32_t right) {
    const std::int64_t a = value_of(sites[left].count, by);
    const std::int64_t b = value_of(sites[right].count, by);
    return a != b ? a > b : left < right;
  };
  const std::size_t kept = std::min(top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), before);
  order.resize(kept);
  return order;
}

}  // namespace heapledger::analyse
