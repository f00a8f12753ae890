#include <gtest/gtest.h>

#include "segment_builder.hpp"
#include "tool/collect/scope_timeline.hpp"
#include "tool/collect/segment.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

constexpr std::uint64_t second_ns = 1'000'000'000;

// A request that holds 800 bytes, and 200 in what is below it; and an outermost scope that holds nothing.
segment_builder with_scopes() {
  segment_builder builder;
  const auto request = builder.add_scope(0, "request"), query = builder.add_scope(request, "query");
  builder.add_scope(0, "idle");
  for (const auto& [scope, bytes] : {std::pair{request, 800U}, std::pair{query, 200U}}) {
    const auto account = builder.add_account(builder.add_node(0, 0x1000));
    builder.account_keys[account].scope = scope;
    builder.accounts[account].allocations = 1;
    builder.accounts[account].allocated_bytes = bytes;
  }
  return builder;
}

TEST(scope_timeline, adds_up_what_is_below_outermost_scopes) {
  auto builder = with_scopes();
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  const auto start_ns = builder.header.start_monotonic_ns;
  scope_timeline moments;
  moments.sample(segment, start_ns + second_ns);
  moments.sample(segment, start_ns + second_ns + 1);  // too soon
  moments.sample(segment, start_ns + 1000 * second_ns);
  auto result = to_profile(copy_segment(segment));
  result.scopes[0].opened = 1;
  result.scopes[0].peak_bytes = 10;
  result.process.duration_ns = 2000 * static_cast<std::int64_t>(second_ns);
  moments.add_to(result, start_ns);
  ASSERT_EQ(result.scope_timeline.size(), 6U);
  EXPECT_EQ(result.scopes[0].peak_bytes, 1000) << "as was seen";
  const auto& points = result.scope_timeline;
  EXPECT_EQ(result.scopes[points[0].scope].path, std::vector<std::string>{"request"});
  EXPECT_EQ(points[0], (scope_moment{points[0].scope, static_cast<std::int64_t>(second_ns), 1000}));
  EXPECT_EQ(points[1].time_ns, 1000 * static_cast<std::int64_t>(second_ns));
  EXPECT_EQ(points[2], (scope_moment{points[0].scope, result.process.duration_ns, 1000}));
  EXPECT_EQ(points[5].live_bytes, 0);
}

TEST(scope_timeline, looks_at_nothing_where_there_are_no_scopes) {
  segment_builder builder;
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  scope_timeline moments;
  moments.sample(segment, second_ns);
  auto result = to_profile(copy_segment(segment));
  moments.add_to(result, 0);
  EXPECT_TRUE(result.scope_timeline.empty());
}

TEST(scope_timeline, stays_small) {
  auto builder = with_scopes();
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  scope_timeline moments;
  for (std::uint64_t i = 1; i < 3000; ++i) moments.sample(segment, i * 1000 * second_ns);
  auto result = to_profile(copy_segment(segment));
  result.process.duration_ns = INT64_MAX / 4;
  moments.add_to(result, 0);
  EXPECT_LE(result.scope_timeline.size(), 2 * scope_timeline::point_limit);
  EXPECT_GT(result.scope_timeline.size(), scope_timeline::point_limit / 2);
}

// Walked from each account to the outermost, these would be 2,500,000,000 steps; and their paths, written out, more
// text than is read of any program.
TEST(scope_timeline, takes_deep_nesting_in_its_stride) {
  constexpr std::uint32_t deep = 50'000;
  segment_builder builder;
  std::uint32_t scope = 0;
  for (std::uint32_t depth = 0; depth < deep; ++depth)
    scope = builder.add_scope(scope, depth == 0 ? "outermost" : "in");
  const auto node = builder.add_node(0, 0x1000);
  for (std::uint32_t i = 0; i < deep; ++i) {
    const auto account = builder.add_account(node);
    builder.account_keys[account].scope = scope;
    builder.accounts[account].allocations = 1;
    builder.accounts[account].allocated_bytes = 8;
  }
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  scope_timeline moments;
  const auto start_ns = builder.header.start_monotonic_ns;
  for (std::uint64_t i = 1; i <= 20; ++i) moments.sample(segment, start_ns + i * 1000 * second_ns);
  profile result;
  result.process.duration_ns = 100'000 * static_cast<std::int64_t>(second_ns);
  result.scopes.push_back({.path = {"outermost"}});
  moments.add_to(result, start_ns);
  ASSERT_EQ(result.scope_timeline.size(), 21U);
  EXPECT_EQ(result.scope_timeline[0].live_bytes, std::int64_t{8} * deep);
}

}  // namespace
}  // namespace heapledger::collect
