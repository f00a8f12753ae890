// Budgets in every order in which a few threads' steps can happen: leases are taken, taken back and given up, and what
// is live is never more than the budget, nor refused while there is room.
#include <gtest/gtest.h>

#include "scopes_world.hpp"

namespace heapledger::probe {
namespace {

// Two threads live on leases of one budget: one has more than it uses, the other wants nearly all, and takes it back.
// Together they never have more than the budget, and when all is freed all can be had again.
TEST(interleavings, leases) {
  constexpr std::size_t much = limit - 3 * bytes, some = 100;
  scope_handle limited = 0;
  std::uint32_t first[2];
  std::int64_t held = 0;
  const auto take = [&](std::size_t thread, std::size_t size) {
    const std::uint32_t block = allocate_if_admitted(thread, size);
    if (block != 0) MODEL_EXPECT((held += static_cast<std::int64_t>(size)) <= limit);
    return block;
  };
  const auto drop = [&](std::size_t thread, std::uint32_t block, std::size_t size) {
    if (block == 0) return;
    held -= static_cast<std::int64_t>(size);
    const event now(thread);
    const char nowhere = 0;
    book_free(*now, block, &nowhere, size);
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 limited = make("limited", 0, limited_budget);
                 held = 0;
                 enter(0, limited);
                 for (std::uint32_t& each : first)
                   each = take(0, bytes);  // the second one within the first one's lease
                 the_world().watch(2);
               },
           .threads = {[&] {
                         drop(0, take(0, some), some);  // more than its lease
                         const std::uint32_t a = take(0, bytes), b = take(0, bytes);
                         drop(0, first[0], bytes);
                         const std::uint32_t c = take(0, bytes);
                         for (const std::uint32_t each : {first[1], a, b, c}) drop(0, each, bytes);
                         enter(0, 0);
                       },
                       [&] {
                         enter(1, limited);
                         const std::uint32_t most = take(1, much);
                         const std::uint32_t a = take(1, bytes), b = take(1, bytes);
                         drop(1, most, much);
                         drop(1, a, bytes);
                         drop(1, b, bytes);
                         enter(1, 0);
                       }},
           .end =
               [&] {
                 scope_usage u{};
                 MODEL_EXPECT(held == 0 && usage_of(limited, false, u) && u.live_bytes == 0 && u.peak_bytes <= limit);
                 for (std::size_t thread = 0; thread < 2; ++thread) {
                   enter(thread, limited);
                   const std::uint32_t all = take(thread, limit);
                   MODEL_EXPECT(all != 0 && take(thread, 1) == 0);
                   drop(thread, all, limit);
                 }
                 MODEL_EXPECT(usage_of(limited, false, u) && u.live_bytes == 0);
               }},
          1000);
}

// Two threads want one more block at the same moment, and each has a part of the last one in its lease: one gets it.
TEST(interleavings, the_last_block_in_two_leases) {
  scope_handle limited = 0;
  bool got[2];
  std::int64_t held = 0;
  const auto take = [&](std::size_t thread, std::int64_t size) {
    const bool taken = allocate_if_admitted(thread, static_cast<std::size_t>(size)) != 0;
    held += taken ? size : 0;
    return taken;
  };
  const auto lease_of = [&](std::size_t thread) {
    return the_world().of[thread]->publish_above - the_world().of[thread]->live;
  };
  explore({.begin =
               [&] {
                 the_world().begin();
                 limited = make("limited", 0, limited_budget);
                 held = 0;
                 got[0] = got[1] = false;
                 for (std::size_t thread = 0; thread < 3; ++thread) enter(thread, limited);
                 for (std::size_t thread = 0; thread < 2; ++thread) {
                   take(thread, 250);
                   take(thread, lease_of(thread) - static_cast<std::int64_t>(bytes) + 1);
                 }
                 take(2, limit - record_at(index_of(limited))->committed[live]);
                 MODEL_EXPECT(limit - held == 2 * (static_cast<std::int64_t>(bytes) - 1));
                 the_world().watch(2);
               },
           .threads = {[&] { got[0] = take(0, bytes); }, [&] { got[1] = take(1, bytes); }},
           .end = [&] { MODEL_EXPECT(got[0] != got[1] && held <= limit); }},
          100);
}

}  // namespace
}  // namespace heapledger::probe
