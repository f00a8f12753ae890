#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

#include "tool/analyse/recursion.hpp"

namespace heapledger::analyse {
namespace {

// Letters stand for frames; "ab*3" is a run of two that stands three times.
std::string folded(std::string_view frames) {
  const std::vector<std::uint64_t> keys(frames.begin(), frames.end());
  std::string text;
  for (const folded_frame& frame : fold_recursion(keys)) {
    text += frames[frame.index];
    if (frame.cycle != 0) text += "*" + std::to_string(frame.times) + " ";
  }
  return text;
}

TEST(recursion, leaves_what_does_not_repeat) {
  EXPECT_EQ(folded(""), "");
  EXPECT_EQ(folded("abcdef"), "abcdef");
  EXPECT_EQ(folded("abcab"), "abcab");
}

TEST(recursion, folds_runs_of_one_to_eight_frames) {
  EXPECT_EQ(folded("aab"), "a*2 b");
  EXPECT_EQ(folded("xabababy"), "xab*3 y");
  EXPECT_EQ(folded("abcdefghabcdefgh"), "abcdefgh*2 ");
  EXPECT_EQ(folded("abcdefghiabcdefghi"), "abcdefghiabcdefghi");  // nine
}

TEST(recursion, prefers_the_shortest_run_of_those_that_cover_most) {
  EXPECT_EQ(folded("aaaaaaaa"), "a*8 ");
  EXPECT_EQ(folded("abababab"), "ab*4 ");
  EXPECT_EQ(folded("aabaabaabc"), "aab*3 c");
}

TEST(recursion, is_linear_on_a_deep_stack) {
  const std::vector<std::uint64_t> keys(2'000'000, 7);
  const auto frames = fold_recursion(keys);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].times, 2'000'000U);
}

RC_GTEST_PROP(recursion, unfolds_to_what_it_came_from, ()) {
  const auto keys = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 3));
  std::vector<std::uint64_t> unfolded;
  std::vector<std::uint64_t> run;
  for (const folded_frame& frame : fold_recursion(keys)) {
    unfolded.push_back(keys[frame.index]);
    if (frame.cycle == 0) continue;
    run.assign(unfolded.end() - frame.cycle, unfolded.end());
    for (std::uint32_t i = 1; i < frame.times; ++i) unfolded.insert(unfolded.end(), run.begin(), run.end());
  }
  RC_ASSERT(unfolded == keys);
}

}  // namespace
}  // namespace heapledger::analyse
