// A fold of one thread's part of an account, while another thread finds that the peak has moved, in every order of
// their steps: what the account held at the peak is what all of its cells say together.
#include <gtest/gtest.h>

#include <cstdio>

#include "../probe_world.hpp"
#include "explorer.hpp"
#include "probe/account/cells.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/watch_view.hpp"

namespace heapledger::probe {

// No leak watch here, and no hooks.
constinit watch_view watching = {0, 0};
void heed_watch() {}
void code_came(std::uint64_t) {}

namespace {

constexpr std::uint32_t epoch_before = 7;
constexpr std::int64_t own_at_peak = -100, own_now = -300, others_at_peak = 50, others_now = 20;

// Net bytes, and what they were at the last peak.
void fill(wire::cell& cell, std::uint32_t account, std::int64_t at_peak, std::int64_t now) {
  cell = {};
  cell.id = account + 1;
  cell.allocated_bytes = now > 0 ? static_cast<std::uint64_t>(now) : 0;
  cell.freed_bytes = now < 0 ? static_cast<std::uint64_t>(-now) : 0;
  cell.peak_bytes = at_peak;
  cell.peak_epoch = epoch_before;
}

std::int64_t held_at_peak(const wire::cell& cell) {
  return cell.peak_epoch == segment.header->peak_epoch
             ? cell.peak_bytes
             : static_cast<std::int64_t>(cell.allocated_bytes) - static_cast<std::int64_t>(cell.freed_bytes);
}

TEST(interleavings, fold_while_the_peak_moves) {
  begin_probe_world("cells");
  books& owner = *acquire_books(open_thread_record());
  books& other = *acquire_books(open_thread_record());
  segment.header->threaded = 1;
  const std::uint32_t account = add_scope_account({0, 0, 0, owner.writer_id, 1}, stack_cut::none);
  delta_cell_slow(other, account);  // makes the thread's table
  std::uint32_t same_place = account;
  do same_place = add_scope_account({0, 0, 0, owner.writer_id, 1}, stack_cut::none);
  while (delta_slot(other, same_place) != delta_slot(other, account));
  delta_cell_slow(other, same_place);  // folds, which makes the cell that all folds of the account go to
  wire::cell& own = other.deltas[delta_slot(other, account)];
  wire::cell& shared = segment.cells[segment.account_keys[account].shared - 1];
  const model::scenario folded{.begin =
                                   [&] {
                                     segment.header->peak_epoch = peak_epoch = epoch_before;
                                     segment.header->peak_bytes = segment.header->live_bytes = 0;
                                     owner.published = 0;
                                     owner.live = 1000;
                                     other.evictions = 0;
                                     fill(own, account, own_at_peak, own_now);
                                     fill(shared, account, others_at_peak, others_now);
                                   },
                               .threads = {[&] { delta_cell_slow(other, same_place); }, [&] { publish_live(owner); }},
                               .end =
                                   [&] {
                                     MODEL_EXPECT(own.id == same_place + 1);
                                     const bool moved = segment.header->peak_epoch != epoch_before;
                                     MODEL_EXPECT(moved);
                                     MODEL_EXPECT(held_at_peak(shared) == own_now + others_now);
                                   }};
  const model::exploration done = model::explore(folded, 2);
  std::printf("%llu runs\n", static_cast<unsigned long long>(done.runs));
  EXPECT_EQ(done.failure, "");
  EXPECT_GE(done.runs, 50u);
}

}  // namespace
}  // namespace heapledger::probe
