// The hash that grows with a path, against the folded frames themselves.
#include "tool/diff/folded_path.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tool/analyse/recursion.hpp"
#include "tool/diff/compare.hpp"

namespace heapledger::diff {
namespace {

// Capitals start main and threads, a dot has no name; from the outermost frame inward.
frame_role role_of(char frame) {
  if (frame == '.') return frame_role::nameless;
  return frame >= 'A' && frame <= 'Z' ? frame_role::start : frame_role::ordinary;
}

analyse::path_hash hash_of(std::string_view frames) {
  folded_path path;
  for (const char frame : frames) path.push(static_cast<std::uint32_t>(frame), role_of(frame));
  return path.hash();
}

// Every start with at most two nameless frames before it.
std::string without_start(const std::string& frames) {
  std::size_t begin = 0;
  for (std::size_t nameless = 0; begin + nameless < frames.size();) {
    const frame_role role = role_of(frames[begin + nameless]);
    if (role == frame_role::start) {
      begin += nameless + 1;
      nameless = 0;
    } else if (role == frame_role::nameless && nameless < 2) {
      ++nameless;
    } else {
      break;
    }
  }
  return begin == frames.size() ? frames : frames.substr(begin);
}

std::string folded(const std::string& frames) {
  std::string kept = without_start(frames);
  std::reverse(kept.begin(), kept.end());
  const std::vector<std::uint64_t> keys(kept.begin(), kept.end());
  std::string text;
  for (const auto& frame : analyse::fold_recursion(keys)) text += kept[frame.index] + std::to_string(frame.cycle);
  return text;
}

TEST(diff_folded_path, a_recursion_counts_once_and_what_starts_a_thread_does_not) {
  EXPECT_EQ(hash_of("Smabab"), hash_of("mababab"));
  EXPECT_EQ(hash_of("..Sma"), hash_of("ma"));
  EXPECT_NE(hash_of("...Sma"), hash_of("ma"));
  EXPECT_NE(hash_of("mab"), hash_of("mabab"));
  EXPECT_NE(hash_of("S"), hash_of(""));
}

RC_GTEST_PROP(diff_folded_path, hashes_are_equal_where_the_folded_frames_are, ()) {
  const auto frames = [] {
    return *rc::gen::container<std::string>(rc::gen::weightedElement<char>({{6, 'a'}, {4, 'b'}, {1, 'S'}, {1, '.'}}));
  };
  const std::string left = frames() + frames();
  const std::string right = *rc::gen::arbitrary<bool>() ? frames() : "S" + left + left;
  RC_ASSERT((hash_of(left) == hash_of(right)) == (folded(left) == folded(right)));
}

RC_GTEST_PROP(diff_folded_path, what_was_cut_off_leaves_nothing, ()) {
  const auto common = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'S', '.'));
  const auto first = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'S', '.'));
  const auto second = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'S', '.'));
  folded_path path;
  for (const char frame : common + first) path.push(static_cast<std::uint32_t>(frame), role_of(frame));
  path.cut(static_cast<std::uint32_t>(common.size()));
  for (const char frame : second) path.push(static_cast<std::uint32_t>(frame), role_of(frame));
  RC_ASSERT(path.hash() == hash_of(common + second));
}

// A stack in each of so many levels: ten thousand million frames, were each stack read by itself.
TEST(diff_folded_path, stacks_in_all_levels_of_a_deep_recursion_are_few) {
  constexpr std::uint32_t levels = 150'000;
  profile p;
  p.strings = {"recurse"};
  p.frames.push_back({0, none, 1});
  p.modules.push_back({0, 1 << 20, 0, "/bin/deep", "", 0, {}});
  p.locations.push_back({16, 0, {0}});
  p.nodes.emplace_back();
  for (std::uint32_t level = 0; level < levels; ++level) {
    p.nodes.push_back({level, 0});
    p.stacks.push_back({level + 1, level + 1, {}, {1, 8}});
  }
  const profile later = p;
  const comparison compared(p, later);
  ASSERT_EQ(compared.stacks().size(), 2U);  // the function, and the function in its recursion
  EXPECT_EQ(compared.stacks()[0].stacks_after, 1U);
  EXPECT_EQ(compared.stacks()[1].stacks_before, levels - 1);
  EXPECT_EQ(compared.stacks()[1].stacks_after, levels - 1);
  EXPECT_EQ(compared.frames_of(compared.stacks()[1]).size(), 1U);
}

}  // namespace
}  // namespace heapledger::diff
