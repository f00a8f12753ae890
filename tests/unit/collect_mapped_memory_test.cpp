#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment_builder.hpp"
#include "tool/collect/mapped_memory.hpp"
#include "tool/collect/memory_map.hpp"
#include "tool/collect/segment.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

wire::mapping_site site(wire::mapping_kind kind, std::uint32_t node, std::uint64_t mapped, std::uint64_t unmapped) {
  wire::mapping_site result{};
  result.kind = kind;
  result.node = node;
  result.calls = 2;
  result.mapped_bytes = mapped;
  result.unmapped_bytes = unmapped;
  return result;
}
wire::mapping range(std::uint64_t start, std::uint64_t bytes, std::uint32_t site) {
  wire::mapping result{};
  result.start = start;
  result.bytes = bytes;
  result.site = site;
  return result;
}

TEST(collect_mapped_memory, stacks_are_nodes_of_the_profile) {
  segment_builder builder;
  const auto outer = builder.add_node(0, 0x1000), inner = builder.add_node(outer, 0x2000);
  builder.mapping_sites = {{},
                           site(wire::mapping_kind::anonymous, inner, 0x8000, 0x1000),
                           site(wire::mapping_kind::file, outer, 0, 0),
                           site(wire::mapping_kind::shared, outer, 0x1000, 0x1000)};
  builder.mappings = {{}, range(0x10000, 0x3000, 1), range(0, 0, 0), range(0x20000, 0x4000, 1)};
  builder.header.mapped_peak_bytes = 0x9000;
  const memory_file file(builder.bytes());
  auto result = collect_segment(file.path());
  ASSERT_TRUE(result.mapped);
  EXPECT_EQ(result.mapped->peak_bytes, 0x9000u);
  EXPECT_FALSE(result.mapped->seen_ns);
  ASSERT_EQ(result.mapped->sites.size(), 2u) << "what never had a byte is no site";
  const auto& first = result.mapped->sites[0];
  EXPECT_EQ(first.kind, "anonymous");
  EXPECT_EQ(first.live_bytes(), 0x7000u);
  EXPECT_EQ(first.ranges, 2u);
  EXPECT_EQ(result.locations.at(result.nodes.at(first.node).location).address, 0x2000u - 1);
  EXPECT_EQ(result.mapped->sites[1].kind, "shared");

  const residency_by_site residency = {{}, {0x2000, 0x3000}, {5, 5}, {0, 0x1000}};
  add_mapped_residency(copy_segment(segment_file(file.path())), residency, 7, result);
  EXPECT_EQ(result.mapped->seen_ns, 7);
  EXPECT_EQ(result.mapped->sites[0].resident_bytes, 0x2000);
  EXPECT_EQ(result.mapped->sites[0].most_resident_bytes, 0x3000);
  EXPECT_EQ(result.mapped->sites[1].most_resident_bytes, 0x1000);
}

TEST(collect_mapped_memory, what_was_resident_at_most_is_remembered) {
  constexpr std::size_t bytes = 16 * 4096;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  segment_builder builder;
  builder.mappings = {range(reinterpret_cast<std::uint64_t>(memory), bytes, 1)};
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  memory_sampler sampler;
  auto look = [&, now_ns = std::uint64_t{0}]() mutable {
    sampler.sample(segment, ::getpid(), {}, {}, now_ns += std::uint64_t{1} << 60);  // whatever the time before cost
    return sampler.mapped_residency().at(1);
  };
  EXPECT_EQ(look().now, bytes);
  ::madvise(memory, bytes, MADV_DONTNEED);
  const auto later = look();
  EXPECT_EQ(later.now, 0);
  EXPECT_EQ(later.most, bytes);
  ::munmap(memory, bytes);
}

TEST(collect_mapped_memory, ranges_are_sorted_and_apart) {
  segment_builder builder;
  builder.mappings = {range(0x9000, 0x1000, 3), range(0x1000, 0x4000, 1), range(0x3000, 0x5000, 2), {}};
  const memory_file file(builder.bytes());
  const auto ranges = read_mapped_ranges(segment_file(file.path()));
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].start, 0x1000u);
  EXPECT_EQ(ranges[0].site, 1u);
  EXPECT_EQ(ranges[1].end, 0xa000u);
}

TEST(collect_mapped_memory, hostile_tables_are_harmless) {
  segment_builder builder;
  builder.mapping_sites = {site(static_cast<wire::mapping_kind>(77), 0, 1, 0), site(wire::mapping_kind::count, 0, 1, 0),
                           site(wire::mapping_kind::file, UINT32_MAX, 0x1000, 0),
                           site(wire::mapping_kind::file, 0, 0x1000, 0x2000),
                           site(wire::mapping_kind::file, 0, UINT64_MAX, 0)};
  for (int i = 0; i < 4; ++i)
    builder.mapping_sites.push_back(site(wire::mapping_kind::file, 0, std::uint64_t{1} << 57, 0));
  builder.mapping_sites.push_back(site(wire::mapping_kind::file, 0, 0x1000, 0));
  builder.mapping_sites.back().calls = UINT64_MAX;
  builder.mappings = {range(UINT64_MAX - 4095, 0x1000, 2), range(0x1000, UINT64_MAX - 4095, 2), range(1, 0x1000, 2),
                      range(0x1000, 1, 2), range(0x5000, 0x1000, UINT32_MAX)};
  builder.header.mapped_peak_bytes = UINT64_MAX;
  const memory_file file(builder.bytes());
  const auto ranges = read_mapped_ranges(segment_file(file.path()));
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].site, UINT32_MAX);
  auto result = collect_segment(file.path());
  ASSERT_TRUE(result.mapped);
  ASSERT_EQ(result.mapped->sites.size(), 2u) << "more would be beyond what can be";
  EXPECT_EQ(result.mapped->sites[0].ranges, 0u);
  add_mapped_residency(copy_segment(segment_file(file.path())), {}, 0, result);
  EXPECT_EQ(result.mapped->sites[0].resident_bytes, 0);
}

}  // namespace
}  // namespace heapledger::collect
