#include <gtest/gtest.h>

#include <algorithm>

#include "tool/collect/timeline.hpp"

namespace heapledger::collect {
namespace {

timeline_point point_at(std::int64_t time_ns, std::int64_t live_bytes, std::uint64_t rss_bytes = 0) {
  return {.time_ns = time_ns, .live_bytes = live_bytes, .live_blocks = 0, .allocations = 0, .rss_bytes = rss_bytes};
}

TEST(collect_timeline, a_short_one_is_kept_as_it_is) {
  timeline line;
  for (int i = 0; i < 500; ++i) line.add(point_at(i, 1000 - i % 7, static_cast<std::uint64_t>(i % 11)));
  const auto points = line.points();
  ASSERT_EQ(points.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(points[static_cast<std::size_t>(i)].live_bytes, 1000 - i % 7);
}

TEST(collect_timeline, a_long_one_stays_small_and_keeps_every_extreme) {
  timeline line;
  constexpr int count = 1'000'003;
  for (int i = 0; i < count; ++i) {
    const bool is_spike = i == 123'456;
    const bool is_dip = i == 777'777;
    const bool is_resident = i == 900'001;
    line.add(point_at(i, is_spike ? 1'000'000 : is_dip ? -5 : 1000, is_resident ? 9999 : 10));
    ASSERT_LE(i % 100'000 == 0 ? line.points().size() : 0, timeline::point_limit);
  }
  const auto points = line.points();
  EXPECT_LE(points.size(), timeline::point_limit);
  EXPECT_GT(points.size(), timeline::point_limit / 8);
  EXPECT_EQ(points.front().time_ns, 0);
  EXPECT_EQ(points.back().time_ns, count - 1);
  const auto has = [&](auto what) { return std::any_of(points.begin(), points.end(), what); };
  EXPECT_TRUE(has([](const auto& p) { return p.time_ns == 123'456 && p.live_bytes == 1'000'000; }));
  EXPECT_TRUE(has([](const auto& p) { return p.time_ns == 777'777 && p.live_bytes == -5; }));
  EXPECT_TRUE(has([](const auto& p) { return p.time_ns == 900'001 && p.rss_bytes == 9999; }));
  for (std::size_t i = 1; i < points.size(); ++i) ASSERT_LT(points[i - 1].time_ns, points[i].time_ns);
}

TEST(collect_timeline, a_long_one_is_as_fine_at_its_begin_as_at_its_end) {
  timeline line;
  constexpr int count = 100'000, parts = 10;
  for (int i = 0; i < count; ++i) line.add(point_at(i, i % 7));
  const auto points = line.points();
  for (int part = 0; part < parts; ++part) {
    const auto is_in = [&](const auto& point) { return point.time_ns * parts / count == part; };
    const auto fewest = static_cast<std::ptrdiff_t>(points.size() / parts / 4);
    EXPECT_GT(std::count_if(points.begin(), points.end(), is_in), fewest) << part;
  }
}

TEST(collect_timeline, an_empty_one_has_no_points) {
  EXPECT_TRUE(timeline().points().empty());
}

}  // namespace
}  // namespace heapledger::collect
