// Where the peak is put on the timeline, when the probe's time for it is from before its last bytes came.
#include "tool/collect/peak_time.hpp"

#include <gtest/gtest.h>

namespace heapledger::collect {
namespace {

constexpr std::uint64_t held_back = 32768;

profile with_peak(std::int64_t bytes, std::int64_t time_ns, std::vector<std::pair<std::int64_t, std::int64_t>> points) {
  profile p;
  p.process.duration_ns = 100;
  p.peak.time_ns = time_ns;
  p.stacks.push_back({.id = 1, .node = 0, .scope = {}, .count = {.peak_bytes = bytes}});
  for (const auto& [when, live_bytes] : points) p.timeline.push_back({when, live_bytes, 0, 0, 0});
  return p;
}

std::int64_t placed(profile p) {
  place_peak(p, held_back);
  return p.peak.time_ns.value_or(-1);
}

TEST(peak_time, is_that_of_the_first_point_where_all_of_it_lived) {
  EXPECT_EQ(placed(with_peak(200, 1, {{5, 100}, {40, 100}, {50, 200}, {60, 200}, {100, 0}})), 50);
  EXPECT_EQ(placed(with_peak(60000, 25, {{20, 30000}, {30, 36000}, {40, 60000}, {100, 0}})), 40);
}

TEST(peak_time, is_that_of_the_highest_point_within_what_is_held_back) {
  EXPECT_EQ(placed(with_peak(60000, 25, {{20, 30000}, {30, 36000}, {40, 59000}, {50, 20000}, {100, 0}})), 40);
}

TEST(peak_time, stays_where_points_know_no_better) {
  EXPECT_EQ(placed(with_peak(1'000'000, 25, {{20, 0}, {30, 1'000'000}, {40, 1'000'000}, {100, 0}})), 25) << "a step";
  EXPECT_EQ(placed(with_peak(1'000'000, 25, {{20, 0}, {30, 10}, {40, 500'000}, {100, 0}})), 25) << "between points";
  EXPECT_EQ(placed(with_peak(1'000'000, 25, {{20, 0}})), 25) << "after all points";
  EXPECT_EQ(placed(with_peak(1'000'000, 25, {})), 25);
  EXPECT_EQ(placed(with_peak(0, 25, {{30, 100}, {40, 200}})), 25);
}

TEST(peak_time, of_several_threads_is_moved_to_points_as_high_only) {
  auto p = with_peak(60000, 25, {{20, 0}, {30, 40000}, {40, 59000}, {50, 61000}, {100, 0}});
  p.peak.error_bytes = 65536;
  EXPECT_EQ(placed(p), 50);
  p.timeline[3].live_bytes = 59999;
  EXPECT_EQ(placed(p), 25);
}

TEST(peak_time, at_the_end_is_right_only_where_the_peak_lives_then) {
  auto p = with_peak(200, 100, {{5, 100}, {40, 100}, {50, 200}, {100, 0}});
  EXPECT_EQ(placed(p), 50) << "nothing was published";
  p.peak.time_ns.reset();
  EXPECT_EQ(placed(p), 50);
  p.peak.time_ns = 100;
  p.stacks[0].count.allocated_bytes = 200;
  EXPECT_EQ(placed(p), 100);
}

TEST(peak_time, of_impossible_numbers_is_some_time) {
  placed(with_peak(INT64_MAX, 0, {{5, INT64_MIN}, {40, INT64_MAX}}));
  placed(with_peak(INT64_MIN, INT64_MAX, {{5, INT64_MIN}, {40, -1}}));
}

}  // namespace
}  // namespace heapledger::collect
