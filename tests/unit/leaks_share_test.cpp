// Intervals and survival curves against numbers from tables and against simulated truth.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "tool/leaks/entry.hpp"
#include "tool/leaks/share.hpp"
#include "tool/leaks/survival.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger::leaks {
namespace {

TEST(leaks_entry, sizes_stay_within_what_a_profile_holds) {
  finding found;
  found.lost.bytes = {1e30, 0, 1e30};
  found.bytes_per_hour = {1e30, 0, 1e30};
  found.oldest_s = 1e30;
  profile p;
  p.leaks.emplace().entries = {to_entry(found)};
  EXPECT_NO_THROW(format::check(p));
}

TEST(leaks_share, agrees_with_published_clopper_pearson_limits) {
  // R: binom.test(x, n)$conf.int
  EXPECT_NEAR(share_of(3, 10).low, 0.0667395, 1e-6);
  EXPECT_NEAR(share_of(3, 10).high, 0.6524529, 1e-6);
  EXPECT_NEAR(share_of(30, 30).low, 0.8842967, 1e-6);
  EXPECT_EQ(share_of(30, 30).high, 1);
  EXPECT_EQ(share_of(0, 5).low, 0);
  EXPECT_NEAR(share_of(0, 5).high, 0.5218238, 1e-6);
  EXPECT_NEAR(share_of(500, 1000).low, 0.4685492, 1e-6);
}

TEST(leaks_share, the_middle_limits_are_those_of_mid_p) {
  // The defining equations, from binomial sums.
  const auto choose = [](int n, int k) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
  };
  const auto exactly = [&](int n, int k, double p) { return choose(n, k) * std::pow(p, k) * std::pow(1 - p, n - k); };
  for (const auto& [hits, trials] : {std::pair{3, 10}, std::pair{1, 30}, std::pair{17, 25}}) {
    const auto found = middle_share_of(hits, trials);
    double above = 0;
    double below = 0;
    for (int k = hits + 1; k <= trials; ++k) above += exactly(trials, k, found.low);
    for (int k = 0; k < hits; ++k) below += exactly(trials, k, found.high);
    EXPECT_NEAR(above + exactly(trials, hits, found.low) / 2, 0.025, 1e-9);
    EXPECT_NEAR(below + exactly(trials, hits, found.high) / 2, 0.025, 1e-9);
    EXPECT_GT(found.low, share_of(hits, trials).low);
    EXPECT_LT(found.high, share_of(hits, trials).high);
  }
  EXPECT_EQ(middle_share_of(0, 5).low, 0);
  EXPECT_EQ(middle_share_of(30, 30).high, 1);
  EXPECT_NEAR(middle_share_of(30, 30).low, std::pow(0.05, 1.0 / 30), 1e-9);
  EXPECT_EQ(middle_share_of(0, 0).high, 1);
}

TEST(leaks_share, of_nothing_says_nothing) {
  EXPECT_EQ(share_of(0, 0).low, 0);
  EXPECT_EQ(share_of(0, 0).high, 1);
}

TEST(leaks_share, a_weighted_sample_is_worth_less_than_its_number) {
  effective_size equal;
  effective_size uneven;
  for (int i = 0; i < 10; ++i) {
    equal.add(2);
    uneven.add(i == 0 ? 100 : 1);
  }
  EXPECT_DOUBLE_EQ(equal.value(), 10);
  EXPECT_LT(uneven.value(), 1.3);
}

TEST(leaks_survival, sees_through_censoring) {
  // Exponential lives of mean 1 s, each watched for a uniform time: half of them unfinished.
  std::mt19937_64 random(7);
  std::exponential_distribution<double> life(1.0);
  std::uniform_real_distribution<double> watch(0, 2);
  survival seen;
  for (int i = 0; i < 20'000; ++i) {
    const double lives = life(random);
    const double watched = watch(random);
    if (lives < watched)
      seen.add_ended(lives);
    else
      seen.add_unfinished(watched);
  }
  EXPECT_NEAR(seen.after(1.0), std::exp(-1.0), 0.03);
  EXPECT_NEAR(seen.after(0.5), std::exp(-0.5), 0.03);
  EXPECT_NEAR(seen.mean_until(1.0), 1 - std::exp(-1.0), 0.03);
}

TEST(leaks_survival, a_quantile_of_what_ends_ignores_what_never_does) {
  survival seen;
  for (int i = 0; i < 1000; ++i) seen.add_ended(0.1);
  for (int i = 0; i < 3000; ++i) seen.add_unfinished(100);
  const auto quantile = seen.quantile_of_ending(0.99);
  ASSERT_TRUE(quantile);
  EXPECT_NEAR(*quantile, 0.1, 0.03);
  EXPECT_NEAR(seen.after(50), 0.75, 0.01);
}

TEST(leaks_survival, says_nothing_of_too_few) {
  survival seen;
  for (int i = 0; i < 4; ++i) seen.add_ended(1);
  EXPECT_FALSE(seen.quantile_of_ending(0.5, 5));
  EXPECT_TRUE(seen.quantile_of_ending(0.5, 4));
  EXPECT_EQ(survival().after(1), 1);
}

}  // namespace
}  // namespace heapledger::leaks
