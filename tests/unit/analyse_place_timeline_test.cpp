#include "tool/analyse/place_timeline.hpp"

#include <gtest/gtest.h>

#include "report_sample.hpp"

namespace heapledger::analyse {
namespace {

// Two stacks of one place, and one of another that held more for a moment.
profile with_moments() {
  sample::profile_builder builder;
  builder.stack({{"load", "a.cpp", 1}, {"main", "a.cpp", 9}}, {});
  builder.stack({{"burst", "a.cpp", 2}, {"main", "a.cpp", 9}}, {});
  builder.stack({{"load", "a.cpp", 1}, {"other", "a.cpp", 5}}, {});
  auto& p = builder.edit();
  p.stack_timeline = {{0, 10, 1}, {0, 20, 2}, {0, 40, 4}, {1, 20, 50}, {2, 10, 100}, {2, 30, 7}, {2, 40, 0}};
  return builder.build();
}

TEST(place_timeline, adds_up_stacks_at_each_moment) {
  const auto p = with_moments();
  const place_timeline timeline(p);
  EXPECT_EQ(timeline.times_ns(), (std::vector<std::int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(timeline.live_bytes(std::vector<std::uint32_t>{0, 2}), (std::vector<std::int64_t>{101, 2, 7, 4}));
  EXPECT_EQ(timeline.live_bytes(std::vector<std::uint32_t>{2, 1, 0}), (std::vector<std::int64_t>{101, 52, 7, 4}));
  EXPECT_EQ(timeline.live_bytes({}), (std::vector<std::int64_t>{0, 0, 0, 0}));
}

TEST(place_timeline, puts_what_held_most_first) {
  const auto p = with_moments();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  const auto all = highest_places(place_timeline(p), sites, 5);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(function_name(p, sites[all[0].site].frame), "load");
  EXPECT_EQ(all[0].live_bytes, (std::vector<std::int64_t>{101, 2, 7, 4}));
  EXPECT_EQ(function_name(p, sites[all[1].site].frame), "burst");
  EXPECT_EQ(highest_places(place_timeline(p), sites, 1).size(), 1U);
}

TEST(place_timeline, three_moments_are_no_line) {
  auto p = with_moments();
  std::erase_if(p.stack_timeline, [](const auto& row) { return row.time_ns == 30; });
  const place_timeline timeline(p);
  EXPECT_TRUE(timeline.times_ns().empty());
  machinery machinery(p);
  EXPECT_TRUE(highest_places(timeline, find_sites(p, machinery), 5).empty());
}

}  // namespace
}  // namespace heapledger::analyse
