#include "tool/html/merge.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "report_sample.hpp"
#include "tool/analyse/frames.hpp"

namespace heapledger::html {
namespace {

using sample::booked;
using sample::profile_builder;

std::string path(const profile& p, const stack_entry& stack) {
  std::string text;
  for (const auto& frame : analyse::expand_stack(p, stack.node)) {
    text += (text.empty() ? "" : "<") + std::string(analyse::function_name(p, frame));
  }
  return text;
}

TEST(html_merge, keeps_both_books_of_every_stack) {
  profile_builder old;
  old.stack({{"f", "a.cpp", 1}, {"main", "a.cpp", 9}}, booked(1, 100, 0, 0, 100));
  old.stack({{"gone", "a.cpp", 2}, {"main", "a.cpp", 9}}, booked(2, 20, 0, 0, 20));
  profile_builder now;
  now.stack({{"added", "a.cpp", 3}, {"main", "a.cpp", 10}}, booked(7, 7, 0, 0, 7));
  now.stack({{"f", "a.cpp", 4}, {"main", "a.cpp", 10}}, booked(3, 300, 0, 0, 300));
  const profile before = old.build();
  const profile after = now.build();
  const merged_profiles merged = merge_profiles(diff::comparison(before, after));

  ASSERT_EQ(merged.shown.stacks.size(), 3U);
  ASSERT_EQ(merged.before.size(), 3U);
  counters sum;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> books;
  for (std::size_t i = 0; i < 3; ++i) {
    sum += merged.before[i];
    const std::string name = path(merged.shown, merged.shown.stacks[i]);
    books[name] = {merged.before[i].allocated_bytes, merged.shown.stacks[i].count.allocated_bytes};
  }
  const decltype(books) expected = {{"f<main", {100, 300}}, {"gone<main", {20, 0}}, {"added<main", {0, 7}}};
  EXPECT_EQ(books, expected);
  EXPECT_EQ(sum, before.totals());
  EXPECT_EQ(merged.shown.totals(), after.totals());
}

}  // namespace
}  // namespace heapledger::html
