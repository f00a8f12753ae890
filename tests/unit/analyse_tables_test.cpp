#include <gtest/gtest.h>

#include <algorithm>

#include "report_sample.hpp"
#include "tool/analyse/dead_ends.hpp"
#include "tool/analyse/sizes.hpp"
#include "tool/analyse/symbol_gaps.hpp"
#include "tool/analyse/threads.hpp"
#include "tool/analyse/timeline.hpp"

namespace heapledger::analyse {
namespace {

TEST(sizes, every_allocation_is_in_one_row_and_the_ends_are_not_empty) {
  std::vector<size_bucket> buckets = {{0, 0, 0}};
  std::uint64_t all = 0;
  for (unsigned bit = 0; bit < 63; ++bit) {
    const std::uint64_t from = std::uint64_t{1} << bit;
    const std::uint64_t count = bit < 3 || bit > 40 ? 0 : bit;
    buckets.push_back({from, 2 * from - 1, count});
    all += count;
  }
  const auto rows = size_rows(buckets);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().from, 8U);
  EXPECT_EQ(rows.back().to, UINT64_MAX);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum += rows[i].allocations;
    if (i > 0) {
      EXPECT_EQ(rows[i].from, rows[i - 1].to + 1);
    }
  }
  EXPECT_EQ(sum, all);
  EXPECT_TRUE(size_rows({}).empty());
}

TEST(threads, of_one_name_are_one_row) {
  const auto rows = thread_rows(sample::killed_server().threads);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "worker");
  EXPECT_EQ(rows[0].threads, 2U);
  EXPECT_EQ(rows[0].allocations, 250'064U);
  EXPECT_EQ(rows[1].threads, 1U);
}

TEST(timeline, keeps_the_highest_of_every_column) {
  std::vector<timeline_point> points;
  for (int i = 0; i < 100; ++i) points.push_back({i, i == 57 ? 1000 : i, 0, 0, 0});
  const auto columns = live_columns(points, 100, 10);
  ASSERT_EQ(columns.size(), 10U);
  EXPECT_EQ(columns[0], 9);
  EXPECT_EQ(columns[5], 1000);
  EXPECT_EQ(columns[9], 99);
}

TEST(timeline, fills_gaps_and_takes_any_times) {
  const std::vector<timeline_point> points = {{0, 5, 0, 0, 0}, {90, 7, 0, 0, 0}, {-3, 1, 0, 0, 0}};
  EXPECT_EQ(live_columns(points, 100, 10), (std::vector<std::int64_t>{5, 5, 5, 5, 5, 5, 5, 5, 5, 7}));
  EXPECT_TRUE(live_columns({}, 100, 10).empty());
  EXPECT_TRUE(live_columns(points, 100, 0).empty());
  EXPECT_EQ(live_columns(points, 0, 2).size(), 2U);
}

TEST(timeline, keeps_a_peak_between_points_until_the_next) {
  const std::vector<timeline_point> points = {{0, 0, 0, 0, 0}, {40, 1, 0, 0, 0}, {80, 50, 0, 0, 0}, {99, 20, 0, 0, 0}};
  using columns = std::vector<std::int64_t>;
  EXPECT_EQ(live_columns(points, 100, 10, peak_moment{52, 50}), (columns{0, 0, 0, 0, 1, 50, 50, 50, 50, 20}));
  EXPECT_EQ(live_columns(points, 100, 10, peak_moment{10, 60}), (columns{0, 60, 1, 1, 1, 1, 1, 1, 50, 20}));
  EXPECT_EQ(live_columns(points, 100, 10, peak_moment{85, 60}), (columns{0, 0, 0, 0, 1, 1, 1, 1, 60, 20}));
  EXPECT_EQ(live_columns(points, 200, 10, peak_moment{150, 60}), (columns{0, 0, 1, 1, 50, 50, 50, 60, 60, 60}));
}

TEST(symbol_gaps, names_modules_without_names_or_lines) {
  const auto gaps = symbol_gaps(sample::killed_server());
  ASSERT_EQ(gaps.size(), 1U);  // the C library's missing lines are nobody's need
  EXPECT_EQ(sample::killed_server().modules[gaps[0].module].path, "/opt/plugins/libplugin.so");
  EXPECT_EQ(gaps[0].without_name, 1U);
}

TEST(nameless_at_peak, adds_up_places_without_a_name) {
  using sample::booked;
  sample::profile_builder builder;
  const sample::sample_frame malloc{"malloc", "", 0, "/lib/libc.so.6"};
  const sample::sample_frame main{"main", "", 0};
  builder.stack({malloc, main}, booked(1, 1000, 0, 0, 1000));
  builder.stack({malloc, {"", "", 0, "/opt/a.so"}, main}, booked(1, 300, 0, 0, 300));
  builder.stack({malloc, {"", "", 0, "/opt/b.so"}, {"", "", 0, "/opt/a.so"}, main}, booked(1, 400, 0, 0, 400));
  builder.stack({malloc, {"", "", 0, ""}, main}, booked(1, 5000, 0, 0, 5000));  // generated code
  builder.stack({malloc, {"known", "", 0}, {"", "", 0, "/opt/a.so"}},
                booked(1, 7000, 0, 0, 7000));  // a nameless caller
  builder.stack({}, booked(1, 50, 0, 0, 50));
  builder.stack({malloc, {"", "", 0, "/lib/libstdc++.so.6"}}, booked(1, 72704, 0, 0, 72704));
  const profile p = builder.build();
  machinery machinery(p);
  const auto nameless = nameless_at_peak(p, find_sites(p, machinery));
  EXPECT_EQ(nameless.bytes, 700);
  ASSERT_NE(nameless.module, none);
  EXPECT_EQ(p.modules[nameless.module].path, "/opt/b.so");
  EXPECT_EQ(nameless_at_peak({}, {}).module, none);
}

TEST(dead_ends, are_where_the_outermost_frame_has_no_rule) {
  using sample::booked;
  sample::profile_builder builder;
  const sample::sample_frame malloc{"malloc", "", 0, "/lib/libc.so.6"};
  const sample::sample_frame main{"main", "", 0};
  builder.stack({malloc, main}, booked(1, 1000, 0, 0, 1000));
  builder.stack({malloc, {"bare", "", 0, "/opt/bare"}}, booked(2, 300, 0, 0, 200));
  builder.stack({malloc, {"bare", "", 0, "/opt/bare"}, main}, booked(1, 5, 0, 0, 5));
  builder.stack({malloc, {"", "", 0, ""}}, booked(3, 40, 0, 0, 30));  // generated code
  builder.stack({malloc, {"", "", 0, ""}, main}, booked(1, 7, 0, 0, 7));
  builder.stack({}, booked(1, 50, 0, 0, 50));
  profile p = builder.build();
  p.process.stacks = "dwarf";
  EXPECT_EQ(find_dead_ends(p).count.allocations, 0U) << "the probe cut none";
  p.profiler.losses["stack_cut_no_rule"] = 2;
  EXPECT_EQ(find_dead_ends(p).count.peak_bytes, 30);
  EXPECT_EQ(find_dead_ends(p).module, none);
  for (location& place : p.locations)
    if (place.module != none && p.modules[place.module].path == "/opt/bare") place.lacks_rule = true;
  const dead_ends found = find_dead_ends(p);
  EXPECT_EQ(found.count.peak_bytes, 230);
  EXPECT_EQ(found.count.allocations, 5U);
  ASSERT_NE(found.module, none);
  EXPECT_EQ(p.modules[found.module].path, "/opt/bare");
  std::replace(p.strings.begin(), p.strings.end(), std::string("bare"), std::string("make_fcontext"));
  EXPECT_EQ(find_dead_ends(p).count.peak_bytes, 30) << "a fiber begins there";
  EXPECT_EQ(count_fiber_stacks(p), 1U);
  p.process.stacks = "jit";
  EXPECT_EQ(find_dead_ends(p).count.allocations, 0U);
  EXPECT_EQ(find_dead_ends({}).count.allocations, 0U);
}

}  // namespace
}  // namespace heapledger::analyse
