// What is said where the tables for stacks were full, or had no room to grow.
#include <gtest/gtest.h>

#include "report_sample.hpp"
#include "tool/report/diff_text.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/text.hpp"

namespace heapledger::report {
namespace {

using sample::booked;

profile half_without_stacks(std::map<std::string, std::uint64_t> losses) {
  sample::profile_builder builder;
  builder.stack({{"load", "a.c", 3}, {"main", "a.c", 9}}, booked(40, 4600, 0, 0, 4600));
  builder.stack({}, booked(7, 5400, 0, 0, 5400));
  auto& p = builder.edit();
  p.process.command = {"./a"};
  p.profiler.losses = std::move(losses);
  p.memory = memory_map{.rss_bytes = 8192, .live_bytes = 4096, .allocator_bytes = 4096};
  return builder.build();
}

const std::map<std::string, std::uint64_t> full_table = {{"accounts_full", 5000}, {"nodes_full", 3}, {"cells_full", 2}};
const std::map<std::string, std::uint64_t> no_room = {
    {"accounts_full", 5000}, {"nodes_full", 3}, {"cells_full", 2}, {"mappings_full", 1}, {"segment_full", 9}};

TEST(report_losses, allocations_without_a_stack_are_counted_where_they_are_booked) {
  EXPECT_EQ(loss_texts(half_without_stacks(full_table))[0],
            "7 allocations have no stack, because the table of stacks was full; totals are right. Record with --depth "
            "to have fewer stacks.");
  auto p = half_without_stacks({{"accounts_full", 5000}});
  p.stacks.pop_back();
  EXPECT_TRUE(loss_texts(p).empty()) << "none was lost";
}

// Who closes all scopes and names them by kind has still the table full, where blocks of them leak.
TEST(report_losses, a_full_table_of_scopes_may_be_full_of_closed_ones) {
  profile p;
  p.profiler.losses = {{"scopes_full", 7}};
  ASSERT_EQ(loss_texts(p).size(), 1U);
  EXPECT_NE(loss_texts(p)[0].find("one that is closed stays there while a block of it lives"), std::string::npos);
}

TEST(report_losses, stacks_of_fibers_do_not_end_early) {
  sample::profile_builder builder;
  builder.stack({{"load", "a.c", 3}, {"make_fcontext", "", 0}}, booked(40, 4600, 0, 0, 4600));
  builder.stack({{"load", "a.c", 3}, {"start", "b.s", 7}}, booked(1, 100, 0, 0, 100));
  builder.edit().profiler.losses = {{"stack_cut_no_rule", 2}};
  const auto texts = loss_texts(builder.build());
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts[0].starts_with("1 stack ends early")) << texts[0];
}

TEST(report_losses, a_file_system_without_room_is_the_cause_and_comes_first) {
  const auto texts = loss_texts(half_without_stacks(no_room));
  ASSERT_EQ(texts.size(), 5U);
  EXPECT_TRUE(texts[0].starts_with("9 times the file system had no room")) << texts[0];
  for (const auto& text : texts) {
    EXPECT_EQ(text.find("--depth"), std::string::npos) << text;
    EXPECT_EQ(text.find("events were lost"), std::string::npos) << text;
  }
}

TEST(report_losses, much_without_a_stack_is_said_above_the_lists) {
  const auto text = text_report(half_without_stacks(no_room), {});
  const auto head = text.find("54 % of the bytes at the peak have no stack");
  ASSERT_NE(head, std::string::npos) << text;
  EXPECT_LT(head, text.find("a.c:3"));
  EXPECT_NE(text.find("free lists, and mappings not booked"), std::string::npos) << text;
  EXPECT_EQ(text_report(half_without_stacks({}), {}).find("have no stack"), std::string::npos);
  EXPECT_NE(text_report(half_without_stacks({}), {}).find("free lists, rounding"), std::string::npos);
}

TEST(report_losses, a_comparison_says_which_side_lost_stacks) {
  const auto before = half_without_stacks({});
  const auto after = half_without_stacks(full_table);
  const auto said = [](const profile& a, const profile& b) { return diff_text(diff::comparison(a, b), {}, {}); };
  EXPECT_NE(said(before, after)
                .find("In the new profile 54 % of the bytes at the peak have no stack, because "
                      "heapledger's tables"),
            std::string::npos)
      << said(before, after);
  EXPECT_NE(said(after, before).find("In the old profile 54 %"), std::string::npos);
  EXPECT_EQ(said(before, before).find("have no stack"), std::string::npos);
}

}  // namespace
}  // namespace heapledger::report
