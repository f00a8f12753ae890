#include "probe/account/birth_word.hpp"

#include <gtest/gtest.h>

namespace heapledger::probe {
namespace {

constexpr std::uint64_t key = 0x0123456789abcdef;
const void* const block = reinterpret_cast<const void*>(0x7f3a12345670);

TEST(birth_word, says_when_it_was) {
  for (const std::uint64_t born :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{123456789012345}, birth_word::time_mask}) {
    const birth_word found(birth_word::make(block, key, born), block, key);
    EXPECT_TRUE(found.whole());
    EXPECT_EQ(found.lived_ns(born), 0U);
    EXPECT_EQ(found.lived_ns(born + 4711), 4711U);  // also where the clock went past what the word holds
  }
}

TEST(birth_word, of_a_process_older_than_its_range) {
  const std::uint64_t born = birth_word::time_mask + 1000;
  const birth_word found(birth_word::make(block, key, born), block, key);
  EXPECT_TRUE(found.whole());
  EXPECT_EQ(found.lived_ns(born + 5), 5U);
}

TEST(birth_word, any_change_of_byte_0_shows) {
  for (std::uint64_t born = 0; born < 200'000; born += 37)
    for (std::uint64_t change = 1; change < 256; ++change)
      ASSERT_FALSE(birth_word(birth_word::make(block, key, born) ^ change, block, key).whole());
}

TEST(birth_word, hardly_ever_fits_by_chance) {
  unsigned fits = 0;
  constexpr unsigned tries = 1u << 16;
  for (std::uint64_t i = 1; i <= tries; ++i) {
    const std::uint64_t word = birth_word::make(block, key, 1'000'000);
    fits += birth_word(word ^ i << 8, block, key).whole();                            // overwritten farther in
    fits += birth_word(word, static_cast<const char*>(block) + 16 * i, key).whole();  // copied to another block
    fits += birth_word(word, block, key + i).whole();                                 // of another process
  }
  EXPECT_LT(fits, 3 * tries / 4096 * 2);
}

}  // namespace
}  // namespace heapledger::probe
