// What a thread remembers of paths and accounts, against a plain map: with paths that differ only in bits that its sets
// do not hold, and with accounts of other threads.
#include "probe/account/recent_accounts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "../probe_world.hpp"

namespace heapledger::probe {
namespace {

using standing = recent_accounts::standing;

// Of few values in each part, so that sets fill up and tags meet.
std::uint64_t crowded_path(std::mt19937_64& random) {
  const std::uint64_t set = random() % 5, unheld = random() % 7, tag = random() % 11;
  return set << 59 | unheld << 34 | tag << 20 | 1;
}

void expect_as_in_map(std::map<std::uint64_t, std::uint32_t>& known, books& own, std::uint64_t path) {
  const auto [account, cell] = account_of(own, path);
  ASSERT_NE(account, 0u);
  const auto [at, added] = known.try_emplace(path, account);
  ASSERT_EQ(at->second, account) << std::hex << path << (added ? " first" : " again");
  ASSERT_EQ(segment.account_keys[account].path, path);
  const bool of_own = segment.account_keys[account].owner == own.id;
  ASSERT_EQ(cell == &segment.accounts[account], of_own);
}

TEST(recent_accounts, each_path_has_its_account_however_much_is_forgotten) {
  begin_probe_world("recent_accounts");
  books& first = *acquire_books(0);
  books& second = *acquire_books(0);
  std::map<std::uint64_t, std::uint32_t> known;
  std::mt19937_64 random(7);
  for (unsigned i = 0; i < 200'000; ++i) {
    expect_as_in_map(known, i % 2 == 0 ? first : second, crowded_path(random));
    if (i % 3 == 0) expect_as_in_map(known, first, random());  // more than all sets hold
    if (i % 50'000 == 49'999) first.forget_accounts();
  }
  EXPECT_GT(known.size(), 50'000u);
}

TEST(recent_accounts, an_account_found_is_one_that_was_learned_for_the_path) {
  alignas(64) char sets[recent_accounts::initial_bytes()] = {};
  recent_accounts recent;
  recent.init(sets);
  const auto any = [](std::uint32_t) { return true; };
  constexpr std::uint64_t path = 0x123456789abcdef0;
  EXPECT_EQ(recent.owned(0), 0u);
  EXPECT_EQ(recent.find(0, any).is, standing::none);
  recent.learn(path, {77, standing::others});
  EXPECT_EQ(recent.owned(path), 0u);
  EXPECT_EQ(recent.find(path, any).account, 77u);
  EXPECT_EQ(recent.find(path, any).is, standing::others);
  EXPECT_EQ(recent.find(path, [](std::uint32_t account) { return account != 77; }).is, standing::none);
  recent.learn(path, {78, standing::suspect});
  EXPECT_EQ(recent.find(path, [](std::uint32_t account) { return account == 78; }).is, standing::suspect);
  recent.forget();
  EXPECT_EQ(recent.find(path, any).is, standing::none);
  recent.learn(path, {0xffffff, standing::owned});
  EXPECT_EQ(recent.owned(path), 0xffffffu);
  // Eight others of the set, and it is forgotten; what was learned last is not.
  for (std::uint64_t i = 1; i <= 8; ++i) {
    recent.learn(path + i, {static_cast<std::uint32_t>(i), standing::owned});
    EXPECT_EQ(recent.owned(path + i), i);
  }
  EXPECT_EQ(recent.owned(path), 0u);
  EXPECT_EQ(recent_accounts::nothing().owned(0), 0u);
}

}  // namespace
}  // namespace heapledger::probe
