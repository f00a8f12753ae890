#include "tool/diff/gate.hpp"

#include <gtest/gtest.h>

namespace heapledger::diff {
namespace {

bool worse(std::string_view limit, std::int64_t before, std::int64_t after) {
  const auto parsed = parse_gate(limit);
  EXPECT_TRUE(parsed) << limit;
  return parsed && is_worse(*parsed, before, after);
}

TEST(diff_gate, bytes_and_their_units) {
  EXPECT_EQ(parse_gate("100")->amount, 100);
  EXPECT_EQ(parse_gate("1.5KiB")->amount, 1536);
  EXPECT_EQ(parse_gate("2M")->amount, 2 << 20);
  EXPECT_EQ(parse_gate("2MB")->amount, 2'000'000);
  EXPECT_EQ(parse_gate("1TiB")->amount, std::int64_t{1} << 40);
  EXPECT_FALSE(parse_gate("100")->by.has_value());
}

TEST(diff_gate, the_measure_stands_before_the_amount) {
  EXPECT_EQ(parse_gate("peak=5%")->by, analyse::measure::peak);
  EXPECT_EQ(parse_gate("live=0")->by, analyse::measure::live);
  EXPECT_EQ(parse_gate("allocations=10")->by, analyse::measure::count);
  EXPECT_EQ(parse_gate("count=10")->by, analyse::measure::count);
}

TEST(diff_gate, what_cannot_be_meant_is_refused) {
  for (const char* text : {"",
                           "%",
                           "5 %",
                           "-5",
                           "+5",
                           "5%%",
                           "5.%",
                           ".%",
                           "1.1234567",
                           "1e3",
                           "rss=5",
                           "peak=",
                           "=5",
                           "peak=5=5",
                           "5PiB",
                           "nan%",
                           "9999999999999999999",
                           "340282366920938463463374607431768211457",
                           "999999999999999999TiB",
                           "5\n"}) {
    EXPECT_FALSE(parse_gate(text)) << text;
  }
}

TEST(diff_gate, more_than_the_limit_is_worse_and_the_limit_is_not) {
  EXPECT_FALSE(worse("100", 1000, 1100));
  EXPECT_TRUE(worse("100", 1000, 1101));
  EXPECT_FALSE(worse("10%", 1000, 1100));
  EXPECT_TRUE(worse("10%", 1000, 1101));
  EXPECT_FALSE(worse("0.5%", 1000, 1005));
  EXPECT_TRUE(worse("0.5%", 1000, 1006));
  EXPECT_FALSE(worse("0", 7, 7));
  EXPECT_TRUE(worse("0", 7, 8));
  EXPECT_FALSE(worse("0%", 7, 6));
}

TEST(diff_gate, any_growth_from_nothing_is_above_every_percentage) {
  EXPECT_TRUE(worse("1000%", 0, 1));
  EXPECT_FALSE(worse("1000%", 0, 0));
  EXPECT_TRUE(worse("1000%", -1000, -999));
  EXPECT_FALSE(worse("10", 0, 10));
}

TEST(diff_gate, the_largest_counters_do_not_overflow) {
  const std::int64_t large = std::int64_t{1} << 59;
  EXPECT_FALSE(worse("100%", large, 2 * large));
  EXPECT_TRUE(worse("99.999999%", large, 2 * large));
  EXPECT_TRUE(worse("1TiB", -large, large));
}

TEST(diff_gate, the_peak_is_what_is_known_of_it) {
  profile before, after;
  before.nodes.resize(1);
  after.nodes.resize(1);
  for (auto* p : {&before, &after}) {
    p->stacks = {
        {.id = 1, .node = 0, .scope = {}, .count = {.allocations = 1, .allocated_bytes = 900, .peak_bytes = 500}}};
    p->peak.error_bytes = 300;
  }
  after.timeline = {{.time_ns = 1, .live_bytes = 600}, {.time_ns = 2, .live_bytes = 10}};
  const comparison compared(before, after);
  EXPECT_EQ(value_before(compared, analyse::measure::peak), 500);
  EXPECT_EQ(value_after(compared, analyse::measure::peak), 600);
  EXPECT_EQ(value_after(compared, analyse::measure::allocated), 900);
  after.timeline[0].live_bytes = 5000;
  EXPECT_EQ(value_after(compared, analyse::measure::peak), 800) << "it cannot have been higher";
}

}  // namespace
}  // namespace heapledger::diff
