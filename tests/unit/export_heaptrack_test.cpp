// What heaptrack's reader makes of a plan, by its own rules: a free is of a temporary block if the event before it
// allocated from the same group, the peak is the highest sum after any event.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "report_sample.hpp"
#include "tool/export/format.hpp"
#include "tool/export/heaptrack_plan.hpp"

namespace heapledger::exports {
namespace {

struct seen_stack {
  std::uint64_t allocations = 0;
  std::uint64_t temporaries = 0;
  std::int64_t live_bytes = 0;
  std::int64_t at_peak = 0;
};

struct reader {
  std::map<std::uint32_t, seen_stack> stacks;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t temporaries = 0;
  std::uint64_t misjudged = 0;
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
};

reader read(const heaptrack_plan& plan) {
  reader seen;
  std::vector<block_group> groups = plan.groups;
  std::int64_t last = -1;
  heaptrack_events events;
  events.phase = [&](heaptrack_phase phase) {
    if (phase != heaptrack_phase::after_peak) return;
    for (auto& [index, stack] : seen.stacks) stack.at_peak = stack.live_bytes;
  };
  events.same_again = [&](std::uint32_t group) {
    groups.push_back(groups[group]);
    return static_cast<std::uint32_t>(groups.size() - 1);
  };
  events.allocate = [&](std::uint32_t group) {
    seen_stack& stack = seen.stacks[groups[group].stack];
    ++stack.allocations;
    ++seen.allocations;
    stack.live_bytes += static_cast<std::int64_t>(groups[group].size_bytes);
    seen.live_bytes += static_cast<std::int64_t>(groups[group].size_bytes);
    seen.peak_bytes = std::max(seen.peak_bytes, seen.live_bytes);
    last = group;
  };
  events.free = [&](std::uint32_t group) {
    seen_stack& stack = seen.stacks[groups[group].stack];
    const bool temporary = last == static_cast<std::int64_t>(group);
    stack.temporaries += temporary;
    seen.temporaries += temporary;
    ++seen.frees;
    stack.live_bytes -= static_cast<std::int64_t>(groups[group].size_bytes);
    seen.live_bytes -= static_cast<std::int64_t>(groups[group].size_bytes);
    last = -1;
  };
  seen.misjudged = play(plan, events);
  return seen;
}

void expect_same(const profile& p) {
  const heaptrack_plan plan = plan_blocks(p, UINT64_MAX);
  const reader seen = read(plan);
  const counters total = p.totals();
  EXPECT_EQ(plan.inexact_stacks, 0U);
  EXPECT_EQ(seen.allocations, total.allocations);
  EXPECT_EQ(seen.frees, total.frees);
  EXPECT_EQ(seen.live_bytes, total.live_bytes());
  EXPECT_EQ(seen.peak_bytes, total.peak_bytes);
  EXPECT_EQ(seen.temporaries + plan.missing_temporaries, total.temporaries + seen.misjudged);
  for (std::uint32_t i = 0; i < p.stacks.size(); ++i) {
    const auto found = seen.stacks.find(i);
    const seen_stack stack = found == seen.stacks.end() ? seen_stack() : found->second;
    EXPECT_EQ(stack.allocations, p.stacks[i].count.allocations) << i;
    EXPECT_EQ(stack.live_bytes, p.stacks[i].count.live_bytes()) << i;
    EXPECT_EQ(stack.at_peak, p.stacks[i].count.peak_bytes) << i;
  }
}

// The books of a program with one thread that did these things: what counters of a real one can be.
profile simulate(const std::vector<std::tuple<std::uint8_t, std::uint8_t, bool>>& steps) {
  struct block {
    std::uint32_t stack;
    std::uint64_t size;
  };
  constexpr std::uint32_t stacks = 5;
  std::vector<counters> books(stacks);
  std::vector<block> live;
  std::int64_t live_bytes = 0;
  std::int64_t highest = -1;
  bool last_was_allocation = false;
  const auto look = [&] {
    if (live_bytes <= highest) return;
    highest = live_bytes;
    for (auto& book : books) book.peak_bytes = book.live_bytes();
  };
  look();
  for (const auto& [what, size, frees] : steps) {
    if (frees && !live.empty()) {
      const std::size_t index = what % 3 == 0 ? live.size() - 1 : what % live.size();
      const block gone = live[index];
      if (last_was_allocation && index == live.size() - 1) ++books[gone.stack].temporaries;
      ++books[gone.stack].frees;
      books[gone.stack].freed_bytes += gone.size;
      live_bytes -= static_cast<std::int64_t>(gone.size);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
      last_was_allocation = false;
    } else {
      const block made{what % stacks, size * std::uint64_t{1 + what % stacks * 7}};
      ++books[made.stack].allocations;
      books[made.stack].allocated_bytes += made.size;
      live_bytes += static_cast<std::int64_t>(made.size);
      live.push_back(made);
      last_was_allocation = true;
      look();
    }
  }
  sample::profile_builder builder;
  for (std::uint32_t i = 0; i < stacks; ++i) builder.stack({{"f" + std::to_string(i)}}, books[i]);
  return builder.build();
}

TEST(export_heaptrack, a_plain_program_is_told_without_any_difference) {
  sample::profile_builder builder;
  builder.stack({{"churn"}}, sample::booked(1000, 64'000, 1000, 64'000, 0, 600));
  builder.stack({{"grow"}}, sample::booked(100, 50'000, 40, 20'001, 41'000));
  builder.stack({{"late"}}, sample::booked(3, 10, 0, 0, 0));
  builder.stack({{"small"}}, sample::booked(5, 0, 2, 0, 0));
  builder.stack({{"top"}}, sample::booked(1, 777, 1, 777, 777, 1));
  const profile p = builder.build();
  expect_same(p);
  const heaptrack_plan plan = plan_blocks(p, UINT64_MAX);
  EXPECT_EQ(plan.missing_temporaries, 0U);
  EXPECT_EQ(read(plan).misjudged, 0U);
}

// What held half of it first comes first, and is freed last where it held half of it last.
TEST(export_heaptrack, blocks_come_and_go_as_their_stacks_did) {
  sample::profile_builder builder;
  builder.stack({{"early"}}, sample::booked(2, 2000, 2, 2000, 2000));
  builder.stack({{"late"}}, sample::booked(2, 20, 2, 20, 20));
  builder.stack({{"stays"}}, sample::booked(1, 5, 0, 0, 5));
  profile& p = builder.edit();
  p.stack_timeline = {{0, 10, 1500}, {0, 30, 2000}, {0, 50, 1200}, {1, 20, 9}, {1, 30, 20}, {1, 40, 15}, {2, 15, 5}};
  expect_same(p);
  std::vector<std::uint64_t> climbs, descends;
  heaptrack_events events;
  events.phase = [](heaptrack_phase) {};
  events.same_again = [](std::uint32_t group) { return group; };
  events.allocate = events.free = [](std::uint32_t) {};
  events.climb_to = [&](std::uint64_t live_bytes) { climbs.push_back(live_bytes); };
  events.descend_to = [&](std::uint64_t live_bytes) { descends.push_back(live_bytes); };
  EXPECT_EQ(play(plan_blocks(p, UINT64_MAX), events), 0U);
  EXPECT_EQ(climbs, (std::vector<std::uint64_t>{1000, 2000, 2010, 2020, 2025, 2025}));
  EXPECT_EQ(descends, (std::vector<std::uint64_t>{2015, 2005, 1005, 5}));
}

// Half of what lived at the peak came at the second point, and was there until the fourth; the rest at the peak itself.
TEST(export_heaptrack, time_passes_as_the_timeline_saw_it) {
  sample::profile_builder builder;
  builder.stack({{"first"}}, sample::booked(1, 100, 1, 100, 100));
  builder.stack({{"second"}}, sample::booked(1, 100, 0, 0, 100));
  profile& p = builder.edit();
  constexpr std::int64_t ms = 1'000'000;
  p.process.duration_ns = 100 * ms;
  p.peak.time_ns = 50 * ms;
  p.timeline = {{10 * ms, 5}, {20 * ms, 100}, {30 * ms, 20}, {70 * ms, 120}, {80 * ms, 100}, {90 * ms, 100}};
  std::string text;
  write_heaptrack(p, {}, [&](std::string_view piece) { text += piece; });
  std::string events;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    if (std::string_view("c+-").find(text[at]) != std::string_view::npos)
      events += text.substr(at, text.find('\n', at) - at) + " ";
  EXPECT_EQ(events, "c 0 c a c 14 c 14 + 1 c 1e c 32 + 2 c 33 c 46 c 50 c 50 - 1 c 5a c 64 ");
}

TEST(export_heaptrack, large_blocks_pass_one_by_one) {
  sample::profile_builder builder;
  builder.stack({{"large"}}, sample::booked(150, 150'000'000, 150, 150'000'000, 1'000'000));
  builder.stack({{"small"}}, sample::booked(100, 1600, 100, 1600, 16));
  expect_same(builder.build());
  EXPECT_EQ(read(plan_blocks(builder.build(), UINT64_MAX)).misjudged, 49U);  // one passes around the block that stays

  builder.stack({{"temporary"}}, sample::booked(60, 60 * 16, 60, 60 * 16, 0, 60));
  expect_same(builder.build());
  EXPECT_EQ(read(plan_blocks(builder.build(), UINT64_MAX)).misjudged, 0U);
}

// A stack in each of so many levels: a trace for each level, and no stack walked from its outermost frame again.
TEST(export_heaptrack, levels_of_a_deep_recursion_are_traces_once) {
  constexpr std::uint32_t levels = 100'000;
  profile p;
  p.strings = {"recurse"};
  p.frames.push_back({0, none, 1});
  p.locations.push_back({16, none, {0}});
  p.nodes.emplace_back();
  for (std::uint32_t level = 0; level < levels; ++level) {
    p.nodes.push_back({level, 0});
    p.stacks.push_back({level + 1, level + 1, {}, {1, 8}});
  }
  std::string file;
  write_heaptrack(p, {}, [&](std::string_view text) { file += text; });
  std::size_t traces = 0;
  for (std::size_t at = 0; (at = file.find("\nt ", at)) != std::string::npos; ++at) ++traces;
  EXPECT_EQ(traces, levels + 1);  // one is of no stack
  EXPECT_NE(file.find("\nt 2 0\n"), std::string::npos);
  EXPECT_NE(file.find("\nt 2 186a0\n"), std::string::npos);  // below the trace of the level before
}

TEST(export_heaptrack, one_block_that_was_the_peak) {
  sample::profile_builder builder;
  builder.stack({{"only"}}, sample::booked(4, 400, 4, 400, 400));
  expect_same(builder.build());
}

RC_GTEST_PROP(export_heaptrack, sums_are_those_of_the_profile,
              (const std::vector<std::tuple<std::uint8_t, std::uint8_t, bool>>& steps)) {
  expect_same(simulate(steps));
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(export_heaptrack, above_the_limit_only_what_passes_is_left_out) {
  sample::profile_builder builder;
  builder.stack({{"churn"}}, sample::booked(1'000'000, 64'000'000, 999'000, 63'936'000, 64'000, 5000));
  builder.stack({{"kept"}}, sample::booked(10, 1000, 0, 0, 1000));
  const profile p = builder.build();
  const heaptrack_plan plan = plan_blocks(p, 50'000);
  const reader seen = read(plan);
  EXPECT_LE(seen.allocations, 50'000U);
  EXPECT_GE(seen.allocations, 49'000U);
  EXPECT_EQ(seen.allocations + plan.left_out, p.totals().allocations);
  EXPECT_EQ(seen.live_bytes, p.totals().live_bytes());
  EXPECT_EQ(seen.peak_bytes, p.totals().peak_bytes);
}

TEST(export_heaptrack, sums_that_no_blocks_can_have_are_counted) {
  sample::profile_builder builder;
  builder.stack({{"f"}}, sample::booked(1, 100, 0, 0, 50));
  builder.stack({{"g"}}, sample::booked(0, 100, 0, 0, -7));
  builder.stack({{"h"}}, sample::booked(1, 10, 2, 90, 10));
  const heaptrack_plan plan = plan_blocks(builder.build(), UINT64_MAX);
  EXPECT_EQ(plan.inexact_stacks, 3U);
  read(plan);
}

}  // namespace
}  // namespace heapledger::exports
