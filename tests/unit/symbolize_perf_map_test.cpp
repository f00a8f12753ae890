#include <gtest/gtest.h>

#include <sstream>

#include "tool/symbolize/perf_map.hpp"

namespace heapledger::symbols {
namespace {

using names = std::vector<std::string>;

names named(const std::string& text, std::vector<std::uint64_t> addresses) {
  std::istringstream map(text);
  return names_in_perf_map(map, addresses);
}

TEST(symbolize_perf_map, names_what_a_line_covers) {
  EXPECT_EQ(
      named("1000 20 JS:*work /home/me/a file.js:10:5\n0x2000 0x10 other\n", {0xfff, 0x1000, 0x101f, 0x1020, 0x200f}),
      (names{"", "JS:*work /home/me/a file.js:10:5", "JS:*work /home/me/a file.js:10:5", "", "other"}));
}

TEST(symbolize_perf_map, the_last_line_counts) {
  EXPECT_EQ(named("1000 100 first\n1040 10 second\n", {0x1030, 0x1045}), (names{"first", "second"}));
}

TEST(symbolize_perf_map, the_last_line_may_have_no_end) {
  EXPECT_EQ(named("1000 20 whole", {0x1010}), (names{"whole"}));
}

TEST(symbolize_perf_map, passes_over_what_is_no_line) {
  EXPECT_EQ(named("\n\nnonsense\n1000\n1000 \n1000 20\n1000 20 \n1000 zz name\n-1 20 name\n"
                  "11111111111111111 20 name\n1000,20,name\n1000 0 empty\n1000 20 good\n",
                  {0x1000}),
            (names{"good"}));
}

TEST(symbolize_perf_map, ends_of_addresses_do_not_wrap) {
  EXPECT_EQ(named("fffffffffffffff0 ffff high\n10 ffffffffffffffff all\n", {0x8, 0x10, 0xfffffffffffffff8}),
            (names{"", "all", "all"}));
}

TEST(symbolize_perf_map, passes_over_a_line_without_measure) {
  EXPECT_EQ(named("1000 20 " + std::string(100'000, 'x') + "\n2000 20 good\n", {0x1000, 0x2000}), (names{"", "good"}));
  EXPECT_EQ(named("2000 20 good\n1000 20 " + std::string(100'000, 'x'), {0x1000, 0x2000}), (names{"", "good"}));
}

TEST(symbolize_perf_map, of_no_addresses_there_are_no_names) {
  EXPECT_EQ(named("1000 20 name\n", {}), names{});
}

}  // namespace
}  // namespace heapledger::symbols
