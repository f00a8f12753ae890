#include <gtest/gtest.h>

#include <algorithm>

#include "segment_builder.hpp"
#include "tool/collect/segment.hpp"
#include "tool/collect/stack_timeline.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t start_ns = 1'000'000'000;  // the builder's

// A file for each moment, as the program would have written one.
segment_builder with_stacks(const std::vector<std::uint64_t>& live_bytes) {
  segment_builder builder;
  for (std::size_t i = 0; i < live_bytes.size(); ++i) {
    auto& account = builder.accounts[builder.add_account(builder.add_node(0, 0x1000 + 16 * i))];
    account.allocations = 2;
    account.frees = 1;
    account.allocated_bytes = 1000 + live_bytes[i];
    account.freed_bytes = 1000;
  }
  return builder;
}

void look(stack_timeline& moments, segment_builder builder, std::uint64_t at_ns) {
  const memory_file file(builder.bytes());
  moments.sample(segment_file(file.path()), at_ns);
}

profile ended(const stack_timeline& moments, segment_builder builder, std::int64_t duration_ns) {
  const memory_file file(builder.bytes());
  std::vector<std::uint32_t> stack_of;
  auto result = to_profile(copy_segment(segment_file(file.path())), &stack_of);
  result.process.duration_ns = duration_ns;
  result.peak.time_ns.reset();
  moments.add_to(result, stack_of, start_ns);
  return result;
}

std::vector<std::pair<std::int64_t, std::int64_t>> of_stack(const profile& p, std::uint64_t address) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (const auto& row : p.stack_timeline)
    if (p.locations[p.nodes[p.stacks[row.stack].node].location].address == address - 1)
      result.push_back({row.time_ns, row.live_bytes});
  return result;
}

TEST(stack_timeline, holds_what_each_stack_held_until_the_end) {
  stack_timeline moments;
  look(moments, with_stacks({800, 0}), start_ns + second_ns);
  look(moments, with_stacks({1, 1}), start_ns + second_ns + 1);  // too soon
  look(moments, with_stacks({300, 500}), start_ns + 500 * second_ns);
  const auto p = ended(moments, with_stacks({7, 600}), 800'000'000'000);
  using points = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(of_stack(p, 0x1000), (points{{1'000'000'000, 800}, {500'000'000'000, 300}, {800'000'000'000, 7}}));
  EXPECT_EQ(of_stack(p, 0x1010), (points{{500'000'000'000, 500}, {800'000'000'000, 600}}));
}

TEST(stack_timeline, has_the_peak_as_the_books_have_it) {
  stack_timeline moments;
  look(moments, with_stacks({800}), start_ns + second_ns);
  auto builder = with_stacks({800});
  builder.accounts[1].peak_bytes = 5000;
  builder.accounts[1].peak_epoch = builder.header.peak_epoch;
  builder.header.peak_bytes = 5000;
  const memory_file file(builder.bytes());
  std::vector<std::uint32_t> stack_of;
  auto p = to_profile(copy_segment(segment_file(file.path())), &stack_of);
  p.process.duration_ns = 9'000'000'000;
  p.peak.time_ns = 4'000'000'000;
  moments.add_to(p, stack_of, start_ns);
  ASSERT_EQ(p.stack_timeline.size(), 3U);
  EXPECT_EQ(p.stack_timeline[1], (stack_moment{0, 4'000'000'000, 5000}));
}

TEST(stack_timeline, accounts_of_one_stack_are_one) {
  auto builder = with_stacks({100});
  auto& second = builder.accounts[builder.add_account(1)];
  second.allocations = 1;
  second.allocated_bytes = 11;
  stack_timeline moments;
  look(moments, builder, start_ns + second_ns);
  const auto p = ended(moments, builder, 2'000'000'000);
  ASSERT_EQ(p.stack_timeline.size(), 2U);
  EXPECT_EQ(p.stack_timeline[0].live_bytes, 111);
  EXPECT_EQ(p.stack_timeline[1].live_bytes, 111);
}

TEST(stack_timeline, keeps_those_that_hold_most) {
  std::vector<std::uint64_t> many(2 * stack_timeline::stack_limit, 1000);
  many[700] = 5000;
  many[701] = 1;
  stack_timeline moments;
  look(moments, with_stacks(many), start_ns + second_ns);
  const auto p = ended(moments, with_stacks(many), 2'000'000'000);
  EXPECT_EQ(p.stack_timeline.size(), 2 * stack_timeline::stack_limit);
  EXPECT_EQ(of_stack(p, 0x1000 + 16 * 700).size(), 2U);
  EXPECT_EQ(of_stack(p, 0x1000 + 16 * 701).size(), 0U);
}

TEST(stack_timeline, knows_that_nothing_was_held) {
  stack_timeline moments;
  look(moments, with_stacks({0, 0}), start_ns + second_ns);
  const auto p = ended(moments, with_stacks({0, 40}), 2'000'000'000);
  EXPECT_EQ(p.stack_timeline.size(), 1U) << "nothing was held, and by no stack";
  EXPECT_EQ(p.stack_timeline[0].live_bytes, 40);
}

TEST(stack_timeline, stays_small_and_keeps_its_highest_moments) {
  stack_timeline moments;
  const auto usual = with_stacks({1000}), high = with_stacks({900'000});
  const auto is_high = [](std::uint64_t i) { return i >= 501 && i < 509; };  // looked at once or twice
  for (std::uint64_t i = 1; i < 3000; ++i) look(moments, is_high(i) ? high : usual, start_ns + i * 1000 * second_ns);
  const auto p = ended(moments, usual, INT64_MAX / 4);
  EXPECT_LE(p.stack_timeline.size(), stack_timeline::moment_limit + 1);
  EXPECT_GT(p.stack_timeline.size(), stack_timeline::moment_limit / 2);
  const auto& rows = p.stack_timeline;
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.live_bytes == 900'000; }));
}

TEST(stack_timeline, says_nothing_that_no_reader_takes) {
  stack_timeline moments;
  const auto builder = with_stacks({std::uint64_t{1} << 57});
  for (std::uint64_t i = 1; i < 4; ++i) look(moments, builder, start_ns + i * 1000 * second_ns);
  EXPECT_TRUE(ended(moments, builder, 5'000'000'000'000).stack_timeline.empty());
}

TEST(stack_timeline, says_nothing_of_what_was_never_looked_at) {
  EXPECT_TRUE(ended(stack_timeline(), with_stacks({1}), 1).stack_timeline.empty());
}

}  // namespace
}  // namespace heapledger::collect
