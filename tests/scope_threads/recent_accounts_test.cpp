// What a thread remembers of paths and accounts, against a plain map: with paths that differ only in bits that its sets
// do not hold, and with accounts of other threads; and which account it takes for the one that comes next.
#include "probe/account/recent_accounts.hpp"

#include "probe/account/watch_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

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

// Paths of which no two differ in the bits that an account's cell has, met again and again in the order in which they
// were met first, or nearly: the account made after the last one is the right one, or another's, or of another path.
TEST(recent_accounts, the_account_made_next_is_the_paths_or_not_taken) {
  begin_probe_world("recent_accounts_next");
  books& first = *acquire_books(0);
  books& second = *acquire_books(0);
  std::map<std::uint64_t, std::uint32_t> known;
  std::mt19937_64 random(11);
  constexpr std::uint64_t alike = std::uint64_t{0x5a5a5a5a} << 32;
  std::uint64_t paths[1000];
  for (auto& path : paths) path = alike | static_cast<std::uint32_t>(random());
  for (unsigned round = 0; round < 20; ++round)
    for (unsigned i = 0; i < 1000; ++i) {
      const bool other = round == 0 ? i % 3 == 1 : random() % 16 == 0;
      expect_as_in_map(known, other ? second : first, paths[random() % 8 == 0 ? random() % 1000 : i]);
    }
}

// The account behind a thread's last one may be in the making by another thread.
TEST(recent_accounts, threads_make_accounts_at_once) {
  begin_probe_world("recent_accounts_threads");
  constexpr unsigned thread_count = 3;
  const auto work = [](books& own, unsigned thread) {
    std::mt19937_64 random(thread);
    for (std::uint64_t i = 1; i < 4000; ++i) {
      const bool common = random() % 4 == 0;
      const std::uint64_t path = (i - random() % std::min<std::uint64_t>(i, 5)) << 8 | (common ? 9 : thread);
      const auto [account, cell] = account_of(own, path);
      EXPECT_EQ(segment.account_keys[account].path, path);
      EXPECT_EQ(cell == &segment.accounts[account], segment.account_keys[account].owner == own.id);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t) threads.emplace_back(work, std::ref(*acquire_books(0)), t);
  for (std::thread& each : threads) each.join();
}

TEST(recent_accounts, a_suspect_made_next_is_not_taken) {
  begin_probe_world("recent_accounts_suspect");
  books& own = *acquire_books(0);
  const std::uint32_t before = account_of(own, 101).account, suspect = account_of(own, 102).account;
  ASSERT_EQ(suspect, before + 1);
  ASSERT_TRUE(commit(segment.watch_marks, suspect + 1));
  segment.watch_marks[suspect] = 1;
  watching.mark_count = suspect + 1;
  own.forget_accounts();
  EXPECT_EQ(account_of(own, 101).account, before);
  const account_cell found = account_of(own, 102);
  EXPECT_EQ(found.account, suspect);
  EXPECT_EQ(found.cell, &no_cell);
  watching.mark_count = 0;
}

// What account_of() looks at may always be looked at, also behind the last account: a page is not there by chance.
TEST(recent_accounts, there_is_room_behind_the_last_account) {
  begin_probe_world("recent_accounts_room");
  books& own = *acquire_books(0);
  for (std::uint64_t path = 1; path <= 5000; ++path) {
    const std::uint32_t account = account_of(own, path << 20).account;
    ASSERT_TRUE(is_committed(segment.accounts, account + 2));
    ASSERT_TRUE(is_committed(segment.account_keys, account + 2));
  }
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
