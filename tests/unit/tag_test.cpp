#include "probe/account/tag.hpp"

#include <gtest/gtest.h>

namespace heapledger::probe {
namespace {

constexpr std::uint64_t key = 0x0123456789abcdef;
constexpr std::size_t largest = large_usable_bytes + tag_bytes - 1;
std::size_t bytes;
const void* const block = reinterpret_cast<const void*>(0x7f3a12345670);

TEST(tag, says_what_was_put_in) {
  for (const std::uint32_t account : {0u, 1u, 77777u, tag::account_limit - 1})
    for (const std::size_t slack : {0, 1, 24, 255, 256, 257, 65279})
      for (const block_kind kind : {block_kind::from_malloc, block_kind::from_new, block_kind::from_new_array}) {
        const tag found(tag::make(block, key, account, slack, kind), block, key);
        EXPECT_TRUE(found.intact(largest, bytes));
        EXPECT_TRUE(found.good(kind, largest, bytes));
        EXPECT_EQ(bytes, largest - tag_bytes - slack);
        EXPECT_EQ(found.account(), account);
        EXPECT_EQ(found.slack(), slack);
        EXPECT_EQ(found.slack_without_byte_0(), slack);
        EXPECT_EQ(found.kind(), kind);
      }
}

TEST(tag, is_good_for_its_own_kind_alone) {
  const tag found(tag::make(block, key, 5, 8, block_kind::from_new), block, key);
  EXPECT_FALSE(found.good(block_kind::from_malloc, largest, bytes));
  EXPECT_FALSE(found.good(block_kind::from_new_array, largest, bytes));
}

// Every slack, every other value of the byte.
TEST(tag, any_change_of_byte_0_shows_and_hides_nothing) {
  std::size_t unseen = 0, wrong = 0;
  for (std::size_t slack = 0; slack < large_usable_bytes; ++slack) {
    const std::uint64_t word = tag::make(block, key, 1234567, slack, block_kind::from_malloc);
    for (std::uint64_t change = 1; change < 256; ++change) {
      const tag broken(word ^ change, block, key);
      unseen += broken.intact(largest, bytes);
      wrong += !broken.recognized() || broken.account() != 1234567 || broken.slack_without_byte_0() != slack;
    }
  }
  EXPECT_EQ(unseen, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(tag, any_change_of_the_lower_three_bytes_to_a_slack_that_no_block_has_shows) {
  const std::uint64_t word = tag::make(block, key, 9, 0, block_kind::from_malloc);
  std::size_t intact = 0;
  for (std::uint64_t change = 0; change < 1u << 24; ++change)
    intact += tag(word ^ change, block, key).intact(largest, bytes);
  EXPECT_EQ(intact, large_usable_bytes);
}

TEST(tag, a_slack_that_the_block_has_no_room_for_is_none) {
  for (const std::size_t usable : {24, 40, 1032}) {
    const std::uint64_t word = tag::make(block, key, 9, 0, block_kind::from_malloc);
    std::size_t intact = 0;
    for (std::uint64_t change = 0; change < 1u << 24; ++change)
      intact += tag(word ^ change, block, key).intact(usable, bytes);
    EXPECT_EQ(intact, usable - tag_bytes + 1);
  }
}

TEST(tag, complemented_is_no_tag) {
  const std::uint64_t word = tag::make(block, key, 9, 16, block_kind::from_malloc);
  EXPECT_FALSE(tag(~word, block, key).intact(largest, bytes));
  EXPECT_FALSE(tag(~word, block, key).recognized());
}

// A tag left behind by an earlier block, or by another process.
TEST(tag, of_another_address_or_key_is_not_taken) {
  const std::uint64_t word = tag::make(block, key, 9, 16, block_kind::from_malloc);
  std::size_t taken = 0;
  for (std::uintptr_t i = 1; i <= 1u << 20; ++i) {
    taken += tag(word, reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(block) + 16 * i), key)
                 .intact(largest, bytes);
    taken += tag(word, block, key + i).intact(largest, bytes);
  }
  EXPECT_LE(taken, 8u);  // of 2^21 words one in 2^22 is expected to look like a tag
}

}  // namespace
}  // namespace heapledger::probe
