#include <gtest/gtest.h>

#include "collected.hpp"
#include "segment_builder.hpp"

namespace heapledger::collect {
namespace {

using testing::collected;
using testing::segment_builder;

wire::pool_kind kind(segment_builder& in, const char* name, std::uint64_t opened, std::uint64_t closed) {
  wire::pool_kind result{};
  result.name = in.text(name);
  result.chunk_bytes = 48;
  result.opened = opened;
  result.closed = closed;
  return result;
}

wire::pool pool_with(std::uint32_t kind, std::uint64_t allocations, std::uint64_t frees, std::uint64_t page_bytes) {
  wire::pool result{};
  result.kind = kind;
  result.counters.allocations = allocations;
  result.counters.frees = frees;
  result.counters.page_bytes = page_bytes;
  result.counters.peak_page_bytes = 2 * page_bytes;
  result.counters.sizes[5] = allocations;
  return result;
}

TEST(collect_pools, adds_up_those_of_one_kind) {
  segment_builder builder;
  builder.pool_kinds = {{}, kind(builder, "requests", 3, 1), kind(builder, "unused", 0, 0)};
  builder.pool_kinds[1].ended.allocations = builder.pool_kinds[1].ended.frees = 100;
  builder.pools = {pool_with(1, 10, 4, 4096), pool_with(0, 7777, 0, 7777), pool_with(1, 1, 0, 8192)};
  const auto result = collected(builder);
  ASSERT_EQ(result.pools.size(), 2u);
  const auto& pool = result.pools[0];
  EXPECT_EQ(pool.name, "requests");
  EXPECT_EQ(pool.opened - pool.closed, 2u);
  EXPECT_EQ(pool.allocations, 111u);
  EXPECT_EQ(pool.chunks_in_use(), 7u);
  EXPECT_EQ(pool.page_bytes, 12288u);
  EXPECT_EQ(pool.peak_page_bytes, 16384u);
  EXPECT_EQ(pool.sizes, (std::vector<size_bucket>{{16, 31, 11}}));
  EXPECT_TRUE(result.pools[1].sites.empty());
}

TEST(collect_pools, stacks_are_nodes_of_the_profile) {
  segment_builder builder;
  const auto outer = builder.add_node(0, 0x1000), inner = builder.add_node(outer, 0x2000);
  builder.pool_kinds = {{}, kind(builder, "requests", 1, 0)};
  wire::pool_site site{};
  site.kind = 1;
  site.node = inner;
  site.allocations = 5;
  site.allocated_bytes = 200;
  site.frees = 1;
  site.freed_bytes = 40;
  builder.pool_sites = {{}, site};
  const auto result = collected(builder);
  ASSERT_EQ(result.pools.at(0).sites.size(), 1u);
  const auto& found = result.pools[0].sites[0];
  EXPECT_EQ(found.live_bytes(), 160u);
  EXPECT_EQ(result.locations.at(result.nodes.at(found.node).location).address, 0x2000u - 1);
  EXPECT_EQ(result.nodes.size(), 3u);
}

TEST(collect_pools, hostile_tables_are_harmless) {
  segment_builder builder;
  builder.pool_kinds = {{}, kind(builder, "x", 1, UINT64_MAX)};
  builder.pool_kinds[1].name = UINT32_MAX;
  builder.pool_kinds[1].chunk_bytes = UINT64_MAX;
  builder.pools = {pool_with(1, UINT64_MAX, 5, UINT64_MAX), pool_with(UINT32_MAX, 1, 1, 1)};
  wire::pool_site site{};
  site.kind = 1;
  site.node = UINT32_MAX;
  site.allocations = 1;
  site.frees = site.freed_bytes = UINT64_MAX;
  builder.pool_sites = {site, site};
  builder.pool_sites[1].kind = 77;
  const auto result = collected(builder);
  ASSERT_EQ(result.pools.size(), 1u);
  const auto& pool = result.pools[0];
  EXPECT_LE(pool.frees, pool.allocations);
  EXPECT_LE(pool.closed, pool.opened);
  ASSERT_EQ(pool.sites.size(), 1u);
  EXPECT_EQ(pool.sites[0].node, 0u);
  EXPECT_EQ(pool.sites[0].live_bytes(), 0u);
}

}  // namespace
}  // namespace heapledger::collect
