// Which watched blocks have been touched, by the pages of their slots.
#include <gtest/gtest.h>

#include "tool/leaks/present_slots.hpp"

namespace heapledger::leaks {
namespace {

constexpr std::uint64_t base = std::uint64_t{1} << 40;

wire::watch_slot block_at(std::uint32_t index, std::uint64_t bytes) {
  wire::watch_slot block{};
  block.address = base + index * wire::watch_slot_bytes + 16;
  block.bytes = bytes;
  return block;
}

TEST(leaks_present_slots, a_block_is_where_any_of_its_slots_is) {
  const present_slots pages(base, {false, false, true, false, false});
  const auto has = [&](std::uint32_t index, std::uint64_t bytes) { return pages.has(block_at(index, bytes), index); };
  EXPECT_FALSE(has(0, 40));
  EXPECT_FALSE(has(1, 0));
  EXPECT_FALSE(has(1, wire::watch_slot_bytes - 16));
  EXPECT_TRUE(has(1, wire::watch_slot_bytes - 15));
  EXPECT_TRUE(has(0, 3 * wire::watch_slot_bytes));
  EXPECT_TRUE(has(2, 0));
  EXPECT_FALSE(has(3, UINT64_MAX / 2));
  EXPECT_FALSE(has(5, 40));
}

TEST(leaks_present_slots, blocks_that_claim_everything_cost_nothing) {
  const present_slots pages(base, std::vector<bool>(wire::watch_slot_capacity));
  for (std::uint32_t i = 0; i < wire::watch_slot_capacity; ++i) EXPECT_FALSE(pages.has(block_at(i, UINT64_MAX / 2), i));
}

}  // namespace
}  // namespace heapledger::leaks
