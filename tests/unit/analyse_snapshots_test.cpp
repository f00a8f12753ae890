#include <gtest/gtest.h>

#include "full_profile.hpp"
#include "tool/analyse/snapshots.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger::analyse {
namespace {

TEST(snapshots, the_last_of_a_name_is_meant) {
  const auto p = full_profile();
  EXPECT_EQ(find_snapshot(p, "warm"), 2U);
  EXPECT_EQ(find_snapshot(p, "caf\xc3\xa9 \xff"), std::nullopt);  // a mark keeps no books
  EXPECT_EQ(find_snapshot(p, "cold"), std::nullopt);
}

TEST(snapshots, books_add_up_from_snapshot_to_snapshot) {
  const auto p = full_profile();
  const auto first = profile_at(p, 0);
  const auto second = profile_at(p, 2);
  ASSERT_EQ(first.stacks.size(), 2U);
  EXPECT_EQ(first.stacks[1].count, (counters{3, 300, 1, 100, 1, 1, 200}));
  ASSERT_EQ(second.stacks.size(), 3U);
  EXPECT_EQ(second.stacks[1].count, (counters{4, (1ULL << 31) + 300, 2, 300, 1, 1, 0}));
  EXPECT_EQ(second.stacks[2].count.peak_bytes, -4096);
  EXPECT_EQ(second.process.duration_ns, 150'000'000);
  EXPECT_EQ(second.process.ended, ending::running);
  EXPECT_TRUE(second.threads.empty());
  EXPECT_EQ(second.timeline.size(), 2U);
  format::check(first);
  format::check(second);
}

TEST(snapshots, a_profile_knows_which_it_is_of) {
  const auto p = full_profile();
  const auto second = profile_at(p, 2);
  ASSERT_NE(shown_snapshot(second), nullptr);
  EXPECT_EQ(shown_snapshot(second)->name, p.markers[2].name);
  EXPECT_EQ(shown_snapshot(p), nullptr);
  EXPECT_EQ(shown_snapshot(profile_between(p, 0, 2)), nullptr);
}

TEST(snapshots, between_two_is_the_difference) {
  const auto p = full_profile();
  const auto window = profile_between(p, 0, 2);
  counters sum;
  for (const auto& stack : window.stacks) sum += stack.count;
  EXPECT_EQ(sum.live_bytes(), profile_at(p, 2).totals().live_bytes() - profile_at(p, 0).totals().live_bytes());
  EXPECT_EQ(sum.peak_bytes, 0);
  ASSERT_TRUE(window.window);
  EXPECT_EQ(window.window->until.time_ns, 150'000'000);
  EXPECT_EQ(window.timeline.size(), 1U);
}

TEST(snapshots, up_to_the_end_includes_what_came_after_the_last) {
  const auto p = full_profile();
  const auto window = profile_between(p, 2, {});
  counters sum;
  for (const auto& stack : window.stacks) sum += stack.count;
  EXPECT_EQ(sum.allocations, p.totals().allocations - profile_at(p, 2).totals().allocations);
  EXPECT_EQ(window.window->until.name, "the end");
  EXPECT_EQ(window.window->until.live_bytes, p.totals().live_bytes());
}

TEST(snapshots, from_a_moment_to_itself_nothing_happened) {
  EXPECT_TRUE(profile_between(full_profile(), 0, 0).stacks.empty());
}

}  // namespace
}  // namespace heapledger::analyse
