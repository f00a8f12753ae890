// What the watch may cost: shared among suspects, and brought by time.
#include "tool/leaks/budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace heapledger::leaks {
namespace {

double spent(const std::vector<double>& rates, double each) {
  double sum = 0;
  for (const double rate : rates) sum += std::min(rate, each);
  return sum;
}

TEST(leaks_budget, all_are_offered_where_there_is_enough) {
  const std::vector<double> rates = {10, 20, 70};
  EXPECT_EQ(offered_per_s_each(rates, 100), std::numeric_limits<double>::infinity());
  EXPECT_EQ(offered_per_s_each({}, 100), std::numeric_limits<double>::infinity());
}

TEST(leaks_budget, the_busy_ones_share_what_the_slow_ones_leave) {
  const std::vector<double> rates = {1e6, 10, 300, 5000};
  const double each = offered_per_s_each(rates, 1000);
  EXPECT_DOUBLE_EQ(each, 345);
  EXPECT_DOUBLE_EQ(spent(rates, each), 1000);
}

TEST(leaks_budget, time_brings_an_allowance_and_never_more_than_a_second_of_it) {
  allowance arms;
  EXPECT_EQ(arms.take(1000, 100, 5), 100U);
  EXPECT_EQ(arms.take(1000, 100, 5), 0U);
  EXPECT_EQ(arms.take(1000, 100, 5.25), 25U);
  EXPECT_EQ(arms.take(10, 100, 6), 10U);
  EXPECT_EQ(arms.take(1000, 100, 60), 100U);
  EXPECT_EQ(arms.take(1000, 100, 59), 0U);  // a clock that goes back
}

TEST(leaks_budget, looks_that_follow_fast_get_one_in_the_end) {
  allowance arms;
  arms.take(1, 0.5, 0);
  std::size_t taken = 0;
  for (int look = 1; look <= 240; ++look) taken += arms.take(1, 0.5, look * 0.02);
  EXPECT_EQ(taken, 2U);
}

TEST(leaks_budget, a_program_that_sleeps_pays_less) {
  usage used;
  EXPECT_EQ(used.processors(), 1);
  for (int look = 0; look < 40; ++look) used.see(look * 0.5, look * 0.2);
  EXPECT_NEAR(used.processors(), 0.4, 0.01);
  for (int look = 40; look < 80; ++look) used.see(look * 0.5, 8);
  EXPECT_EQ(used.processors(), 0.1);
  for (int look = 80; look < 120; ++look) used.see(look * 0.5, look * 8);
  EXPECT_EQ(used.processors(), 1);
}

}  // namespace
}  // namespace heapledger::leaks
