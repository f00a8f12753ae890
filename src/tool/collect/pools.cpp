#include "tool/collect/pools.hpp"

#include <algorithm>
#include <cstddef>

namespace heapledger::collect {
namespace {

constexpr std::uint64_t most = std::uint64_t{1} << 50;
constexpr std::size_t size_classes = std::size(wire::pool_counters{}.sizes);

// What no program can reach is nothing.
std::uint64_t bounded(std::uint64_t value) {
  return value > most ? 0 : value;
}

void add_to(std::uint64_t& sum, std::uint64_t value) {
  sum = std::min(sum + bounded(value), most);
}

class kind_sum {
 public:
  explicit kind_sum(const wire::pool_counters& ended) { add(ended); }

  void add(const wire::pool_counters& one) {
    add_to(info_.allocations, one.allocations);
    add_to(info_.frees, one.frees);
    add_to(info_.allocated_bytes, one.allocated_bytes);
    add_to(info_.page_bytes, one.page_bytes);
    add_to(info_.pages, one.pages);
    add_to(info_.arenas, one.arenas);
    info_.peak_page_bytes = std::max(info_.peak_page_bytes, bounded(one.peak_page_bytes));
    for (std::size_t i = 0; i < size_classes; ++i) add_to(sizes_[i], one.sizes[i]);
  }

  pool_info take() {
    // Other processors' adds arrive in any order: a free may be there before its allocation.
    info_.frees = std::min(info_.frees, info_.allocations);
    for (std::size_t i = 0; i < size_classes; ++i) {
      if (sizes_[i] == 0) continue;
      const std::uint64_t from = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
      info_.sizes.push_back({.from = from, .to = i == 0 ? 0 : 2 * from - 1, .allocations = sizes_[i]});
    }
    return std::move(info_);
  }

 private:
  pool_info info_;
  std::uint64_t sizes_[size_classes] = {};
};

}  // namespace

std::vector<std::optional<pool_place>> pool_places(const segment_copy& segment) {
  std::vector<std::optional<pool_place>> places(segment.pool_sites.size());
  std::vector<std::uint32_t> counts(segment.pool_kinds.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& site = segment.pool_sites[i];
    if (site.kind == 0 || site.kind >= counts.size() || bounded(site.allocations) == 0) continue;
    places[i] = {site.kind - 1, counts[site.kind]++};
  }
  return places;
}

std::vector<wire::pool_site> copy_pool_sites(const segment_file& file) {
  constexpr std::uint32_t limit = 1u << 22;
  std::uint32_t count = 0;
  if (!file.read_at(offsetof(wire::segment_header, pool_site_count), &count, sizeof count)) return {};
  const auto& region = file.header().pool_sites;
  std::vector<wire::pool_site> sites(std::min<std::uint64_t>({count, region.capacity, limit}));
  if (!file.read_at(region.offset, sites.data(), sites.size() * sizeof sites[0])) return {};
  return sites;
}

void add_pools(const segment_copy& segment, std::span<const std::uint32_t> nodes, profile& to) {
  std::vector<kind_sum> sums;
  for (const auto& kind : segment.pool_kinds) sums.emplace_back(kind.ended);
  for (const auto& pool : segment.pools)
    if (pool.kind != 0 && pool.kind < sums.size()) sums[pool.kind].add(pool.counters);

  const std::size_t first = to.pools.size();
  for (std::size_t kind = 1; kind < sums.size(); ++kind) {
    const auto& named = segment.pool_kinds[kind];
    auto& info = to.pools.emplace_back(sums[kind].take());
    info.name = segment.text(named.name).substr(0, 255);
    info.chunk_bytes = std::min<std::uint64_t>(named.chunk_bytes, UINT32_MAX);
    info.opened = bounded(named.opened);
    info.closed = std::min(bounded(named.closed), info.opened);
  }
  const auto places = pool_places(segment);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& site = segment.pool_sites[i];
    if (!places[i]) continue;
    to.pools[first + places[i]->pool].sites.push_back(
        {.node = nodes[i],
         .allocations = site.allocations,
         .allocated_bytes = bounded(site.allocated_bytes),
         .frees = std::min(bounded(site.frees), site.allocations),
         .freed_bytes = std::min(bounded(site.freed_bytes), bounded(site.allocated_bytes))});
  }
}

}  // namespace heapledger::collect
