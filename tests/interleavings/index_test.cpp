// Threads that look for the same in an index without a lock and add it, while another makes the index grow, in all
// orders of their steps with two switches that nothing forces: all come to the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "explorer.hpp"
// Models what is included after it.
#include "model_atomics.hpp"

#include "probe/base/lock.hpp"
#include "probe/publish/id_index.hpp"

namespace heapledger::probe {
namespace {

constexpr unsigned bits = 2, before = 2, adders = 3;
constexpr std::uint32_t first_of_adders = 101;

std::uint64_t hash_of(std::uint32_t id) {
  return std::min(id, first_of_adders) * 0x9e3779b97f4a7c15u;  // the adders' are the same
}

// `dead`: one that was added before, and has the hash of the adders'; 0: none.
void add_to_an_index_that_grows(std::uint32_t dead) {
  id_index index;
  std::uint32_t index_lock = 0;
  std::array<std::uint32_t, adders> found{};
  const std::uint64_t hash = hash_of(first_of_adders);
  const auto is_dead = [dead](std::uint32_t id) { return id == dead; };
  const auto equal = [hash, dead](std::uint32_t id) { return id != dead && hash_of(id) == hash; };
  model::scenario all{.begin =
                          [&] {
                            ASSERT_TRUE(index.create(bits));
                            for (std::uint32_t id = 1; id <= before; ++id) index.put(hash_of(id), id);
                            if (dead != 0) index.put(hash, dead);
                          },
                      .threads = {[&] {
                        const lock_guard held(index_lock);
                        const auto each = [&](auto put) {
                          index.for_each([&](std::uint32_t id) { put(hash_of(id), id); });
                        };
                        MODEL_EXPECT(index.grow(each));
                      }},
                      .end =
                          [&] {
                            MODEL_EXPECT(found[0] >= first_of_adders && index.find(hash, equal) == found[0]);
                            for (const std::uint32_t each : found) MODEL_EXPECT(each == 0 || each == found[0]);
                            index.clear();  // its pages back
                          }};
  for (unsigned i = 0; i < adders; ++i)
    all.threads.push_back([&, i] {
      const std::uint32_t mine = first_of_adders + i;
      found[i] = index.add_unlocked(hash, mine, equal, is_dead);
      // Only one of them goes on to the lock: several that wait for it take turns without end.
      if (found[i] != 0 || i != 0) return;
      const lock_guard held(index_lock);
      found[i] = index.find_or_add(hash, mine, equal, hash_of, is_dead);
    });
  const model::exploration done = model::explore(all, 2);
  std::printf("%llu runs\n", static_cast<unsigned long long>(done.runs));
  EXPECT_EQ(done.failure, "");
  EXPECT_GT(done.runs, 1000u);
}

TEST(interleavings, add_to_an_index_that_grows) {
  add_to_an_index_that_grows(0);
}
TEST(interleavings, take_a_slot_in_an_index_that_grows) {
  add_to_an_index_that_grows(first_of_adders + 50);
}

}  // namespace
}  // namespace heapledger::probe
