#include "tool/analyse/error_places.hpp"

#include <gtest/gtest.h>

#include <string>

#include "report_sample.hpp"
#include "tool/report/text.hpp"

namespace heapledger::analyse {
namespace {

using sample::sample_frame;

// Many stacks of one mistake, two of another, a few single ones; and one of which nobody knows who allocated.
profile with_errors() {
  sample::profile_builder builder;
  const counters once{.allocations = 1, .allocated_bytes = 8, .frees = 1, .freed_bytes = 8};
  const auto by = [&](const std::string& place, const std::string& caller) {
    return builder.stack({{place, "a.cpp", 7}, {caller, "b.cpp", 9}, {"main", "main.cpp", 3}}, once) + 1;
  };
  profile& p = builder.edit();
  for (int i = 0; i < 5; ++i) p.errors.push_back({"mismatch", by("often", "caller_" + std::to_string(i)), 1});
  const auto most = by("often", "most");
  p.errors.push_back({"mismatch", most, 12, p.stacks[0].node});
  p.errors.push_back({"mismatch", most, 8, p.stacks[1].node});
  p.errors.push_back({"mismatch", by("twice", "left"), 2});
  p.errors.push_back({"mismatch", by("third", "right"), 1});
  p.errors.push_back({"mismatch", by("fourth", "right"), 1});
  p.errors.push_back({"overflow", by("often", "most"), 4});
  p.errors.push_back({"overflow", 12345, 1});
  p.errors.push_back({"mismatch", most, 2, p.stacks[2].node, "new[]", "free"});
  return builder.build();
}

TEST(error_places, are_the_places_that_allocated_those_with_most_errors_first) {
  const profile p = with_errors();
  machinery machinery(p);
  const auto kinds = error_kinds(p, machinery);
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].kind, "mismatch");
  EXPECT_EQ(kinds[0].count, 29u);
  ASSERT_EQ(kinds[0].places.size(), 4u);
  EXPECT_EQ(kinds[0].places[0].count, 25u);
  ASSERT_EQ(kinds[0].places[0].stacks.size(), 6u);
  EXPECT_EQ(kinds[0].places[0].stacks[0].index, 5u);  // `most`
  EXPECT_EQ(kinds[0].places[0].stacks[0].count, 20u);
  ASSERT_EQ(kinds[0].places[0].freers.size(), 2u);
  EXPECT_EQ(kinds[0].places[0].freers[0].index, p.stacks[0].node);
  EXPECT_EQ(kinds[0].places[0].freers[0].count, 12u);
  EXPECT_EQ(kinds[0].places[1].count, 2u);
  EXPECT_EQ(kinds[1].count, 5u);
  ASSERT_EQ(kinds[1].places.size(), 2u);
  EXPECT_EQ(kinds[1].places[0].count, 4u);
  EXPECT_TRUE(kinds[1].places[1].stacks.empty());
  EXPECT_EQ(kinds[2].allocated_by + ", " + kinds[2].freed_by, "new[], free");
  EXPECT_TRUE(error_kinds(profile{}, machinery).empty());
}

TEST(error_places, are_few_in_the_report) {
  const profile p = with_errors();
  const std::string whole = report::text_report(p, {});
  const std::size_t start = whole.find("ERRORS");
  ASSERT_NE(start, std::string::npos) << whole;
  const std::string text = whole.substr(start, whole.find("\n\n", start) - start);
  for (const char* expected :
       {"ERRORS in the program: 36", "  29 mismatched frees. ", "  25 of 29 blocks were allocated by\n", "most  ",
        "     and by 5 other ways to that place\n", "  and 12 of them freed by\n",
        "     and the others by 1 other stack\n", "  2 mismatched frees: allocated by new[], freed by free.",
        "  and freed by\n", "  2 of 29 blocks were allocated by\n", "  1 of 29 blocks was allocated by\n",
        "  1 more place: --json lists them\n", "  5 overflows. ", "  4 of 5 blocks were allocated by\n"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
  EXPECT_EQ(text.find("caller_3"), std::string::npos) << text;
}

}  // namespace
}  // namespace heapledger::analyse
