// An excerpt has the stacks that were asked for, whole, and nothing of the others.
#include <gtest/gtest.h>

#include "report_sample.hpp"
#include "tool/analyse/excerpt.hpp"
#include "tool/analyse/frames.hpp"

namespace heapledger::analyse {
namespace {

std::vector<std::string> names(const profile& p, std::uint32_t node) {
  std::vector<std::string> result;
  walk_stack(p, node, [&](const frame_ref& frame) {
    result.emplace_back(function_name(p, frame));
    return true;
  });
  return result;
}

TEST(analyse_excerpt, keeps_stacks_whole_and_drops_the_others) {
  sample::profile_builder builder;
  builder.stack({{"a", "a.cpp", 1}, {"shared", "m.cpp", 2}, {"main", "m.cpp", 3}}, sample::booked(1, 10, 0, 0, 10));
  builder.stack({{"b", "b.cpp", 1}, {"main", "m.cpp", 3}}, sample::booked(2, 20, 0, 0, 20));
  builder.stack({{"c", "c.cpp", 1}, {"shared", "m.cpp", 2}, {"main", "m.cpp", 3}}, sample::booked(4, 40, 0, 0, 40));
  const auto whole = builder.build();
  const auto part = excerpt(whole, {1, 3});
  ASSERT_EQ(part.stacks.size(), 2U);
  EXPECT_EQ(part.stacks[1].id, 3U);
  EXPECT_EQ(part.stacks[1].count, whole.stacks[2].count);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(names(part, part.stacks[i].node), names(whole, whole.stacks[2 * i].node));
  EXPECT_EQ(part.locations.size(), 4U);  // a, c, shared, main
  EXPECT_EQ(part.nodes.size(), 5U);
  EXPECT_TRUE(excerpt(whole, {}).stacks.empty());
}

}  // namespace
}  // namespace heapledger::analyse
