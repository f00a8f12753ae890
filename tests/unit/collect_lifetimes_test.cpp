// How long blocks lived, from a segment to what is said of it; and from hostile ones.
#include <gtest/gtest.h>

#include "segment_builder.hpp"
#include "tool/analyse/lifetimes.hpp"
#include "tool/collect/segment.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

class lifetimes : public ::testing::Test {
 protected:
  lifetimes() {
    account_ = builder_.add_account(builder_.add_node(0, 0x1000));
    wire::cell& books = builder_.accounts[account_];
    books.allocations = 5;
    books.allocated_bytes = 500;
    books.frees = 3;
    books.freed_bytes = 300;
    builder_.writers.resize(2);
    builder_.writer_lifetimes.resize(2);
    builder_.account_lifetimes.resize(2);
  }

  profile collected() {
    const memory_file file(builder_.bytes());
    auto result = collect_segment(file.path());
    EXPECT_EQ(format::decode(format::encode(result)), result) << "what is collected can be kept";
    return result;
  }
  lives life() {
    for (const auto& stack : collected().stacks)
      if (stack.id == account_) return stack.count.life;
    return {};
  }

  segment_builder builder_;
  std::uint32_t account_;
};

TEST_F(lifetimes, are_absent_where_nobody_timed) {
  builder_.writer_lifetimes.clear();
  builder_.account_lifetimes.clear();
  const auto result = collected();
  EXPECT_FALSE(result.process.lives_timed);
  EXPECT_TRUE(result.lifetimes.empty());
  EXPECT_EQ(result.totals().life, lives{});
}

TEST_F(lifetimes, writers_add_up) {
  builder_.writer_lifetimes[0].buckets[3] = {2, 200};
  builder_.writer_lifetimes[1].buckets[3] = {1, 50};
  builder_.writer_lifetimes[1].buckets[wire::lifetime_buckets - 1] = {1, 50};
  const auto result = collected();
  EXPECT_TRUE(result.process.lives_timed);
  const std::vector<lifetime_bucket> expected = {{5, 9, 3, 250}, {5'000'000'000'000'000'000, UINT64_MAX, 1, 50}};
  EXPECT_EQ(result.lifetimes, expected);
}

TEST_F(lifetimes, sums_pass_two_to_the_sixty_fourth) {
  builder_.account_lifetimes[account_] = {
      .births = 5, .ends = 3, .lived_ns = {7, 1}, .born_ns = {3'000'000'001, 0}, .reserved = {}};
  const auto found = life();
  EXPECT_EQ(found.ended, 3U);
  EXPECT_EQ(found.lived, (time_sum{18'446'744'073, 709'551'623}));
  EXPECT_EQ(found.unended, 2U);
  EXPECT_EQ(found.born, (time_sum{3, 1}));
  EXPECT_EQ(analyse::mean_age_ns(found, 2'000'000'000), 500'000'000);
  EXPECT_EQ(analyse::mean_life_ns({.ended = 2, .lived = {0, 501}, .unended = 0, .born = {}}), 251);
  EXPECT_EQ(analyse::mean_life_ns({}), std::nullopt);
}

// Cut short between an end and a birth, or written to by the program.
TEST_F(lifetimes, impossible_ones_are_left_out) {
  auto& sums = builder_.account_lifetimes[account_];
  sums = {.births = 3, .ends = 5, .lived_ns = {100, 0}, .born_ns = {0, ~std::uint64_t{0}}, .reserved = {}};
  EXPECT_EQ(life(), (lives{.ended = 5, .lived = {0, 100}, .unended = 0, .born = {}}));
  sums = {
      .births = 5, .ends = 3, .lived_ns = {100, 0}, .born_ns = {~std::uint64_t{0}, ~std::uint64_t{0}}, .reserved = {}};
  EXPECT_EQ(life(), (lives{.ended = 3, .lived = {0, 100}, .unended = 0, .born = {}}));
  sums = {.births = ~std::uint64_t{0},
          .ends = ~std::uint64_t{0} - 1,
          .lived_ns = {0, 0},
          .born_ns = {0, 0},
          .reserved = {}};
  EXPECT_EQ(life().ended, 0U);
  builder_.writer_lifetimes[0].buckets[0] = {~std::uint64_t{0}, 1};
  builder_.writer_lifetimes[1].buckets[0] = {7, 1};
  EXPECT_EQ(collected().lifetimes, (std::vector<lifetime_bucket>{{0, 0, 7, 1}}));
}

TEST_F(lifetimes, half_a_region_is_damage) {
  builder_.change_header = [](wire::segment_header& header) { header.account_lifetimes.capacity = 0; };
  EXPECT_ANY_THROW(collected());
}

TEST(lifetime_rows, are_decades_without_empty_ends) {
  const std::vector<lifetime_bucket> buckets = {
      {0, 0, 1, 0}, {500, 999, 2, 9}, {1'000, 1'999, 4, 0}, {5'000, 9'999, 8, 0}, {1'000'000, 1'999'999, 16, 0}};
  const std::vector<lifetime_bucket> rows = {{0, 999, 3, 9},
                                             {1'000, 9'999, 12, 0},
                                             {10'000, 99'999, 0, 0},
                                             {100'000, 999'999, 0, 0},
                                             {1'000'000, 9'999'999, 16, 0}};
  EXPECT_EQ(analyse::lifetime_rows(buckets), rows);
  EXPECT_TRUE(analyse::lifetime_rows({}).empty());
  const std::vector<lifetime_bucket> last = {{5'000'000'000'000'000'000, UINT64_MAX, 1, 0}};
  EXPECT_EQ(analyse::lifetime_rows(last).front().to_ns, UINT64_MAX);
}

}  // namespace
}  // namespace heapledger::collect
