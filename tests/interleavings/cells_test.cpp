// A fold of one thread's part of an account, also while another thread finds that the peak has moved, in every order of
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
  cell.allocations = 5;
  cell.frees = 4;
  cell.temporaries = 3;
  cell.reallocations = 2;
  cell.peak_bytes = at_peak;
  cell.peak_epoch = epoch_before;
}

// Both parts of it, as fill() made them.
bool holds_both(const wire::cell& cell) {
  return cell.allocated_bytes == others_now && cell.freed_bytes == -own_now && cell.allocations == 10 &&
         cell.frees == 8 && cell.temporaries == 6 && cell.reallocations == 4;
}

std::int64_t held_at_peak(const wire::cell& cell) {
  return cell.peak_epoch == segment.header->peak_epoch
             ? cell.peak_bytes
             : static_cast<std::int64_t>(cell.allocated_bytes) - static_cast<std::int64_t>(cell.freed_bytes);
}

// Two threads, and an account that both have a part of: another one wants the place of the second thread's part.
struct shared_account {
  shared_account() {
    begin_probe_world("cells");
    owner = acquire_books(open_thread_record());
    other = acquire_books(open_thread_record());
    segment.header->threaded = 1;
    account = add_scope_account({0, 0, 0, owner->writer_id, 1}, stack_cut::none);
    delta_cell_slow(*other, account);  // makes the thread's table
    do same_place = add_scope_account({0, 0, 0, owner->writer_id, 1}, stack_cut::none);
    while (delta_slot(*other, same_place) != delta_slot(*other, account));
    fold();  // makes the cell that all folds of the account go to
  }

  void fold() {
    other->evictions = 0;
    delta_cell_slow(*other, same_place);
  }
  wire::cell& own() { return other->deltas[delta_slot(*other, account)]; }
  wire::cell& shared() { return segment.cells[segment.account_keys[account].shared - 1]; }

  books* owner;
  books* other;
  std::uint32_t account;
  std::uint32_t same_place;
};

TEST(interleavings, fold_while_the_peak_moves) {
  shared_account of;
  const model::scenario folded{.begin =
                                   [&] {
                                     segment.header->peak_epoch = peak_epoch = epoch_before;
                                     segment.header->peak_bytes = segment.header->live_bytes = 0;
                                     of.owner->published = 0;
                                     of.owner->live = 1000;
                                     fill(of.own(), of.account, own_at_peak, own_now);
                                     fill(of.shared(), of.account, others_at_peak, others_now);
                                   },
                               .threads = {[&] { of.fold(); }, [&] { publish_live(*of.owner); }},
                               .end =
                                   [&] {
                                     MODEL_EXPECT(of.own().id == of.same_place + 1);
                                     const bool moved = segment.header->peak_epoch != epoch_before;
                                     MODEL_EXPECT(moved);
                                     MODEL_EXPECT(held_at_peak(of.shared()) == own_now + others_now);
                                     MODEL_EXPECT(holds_both(of.shared()));
                                   }};
  const model::exploration done = model::explore(folded, 2);
  std::printf("%llu runs\n", static_cast<unsigned long long>(done.runs));
  EXPECT_EQ(done.failure, "");
  EXPECT_GE(done.runs, 50u);
}

// What is freed between a sum that is a peak and its epoch is not in what the cells say: the stated error is as large,
// if the other thread has told of it.
TEST(interleavings, free_while_the_peak_moves) {
  shared_account of;
  constexpr std::int64_t owners = 1'000'000, others = 500'000, freed = 400'000;
  wire::cell& owners_cell = segment.accounts[of.account];
  wire::segment_header& header = *segment.header;
  bool told_before = false;
  const model::scenario freed_beside{
      .begin =
          [&] {
            header.peak_epoch = peak_epoch = epoch_before;
            header.peak_bytes = 0;
            header.peak_threads = 2;
            header.live_bytes = of.other->live = of.other->published = others;
            of.other->peak_mark = INT64_MAX;
            set_publication_marks(*of.other);
            of.owner->published = 0;
            of.owner->live = owners;
            fill(owners_cell, of.account, 0, owners);
            fill(of.own(), of.account, 0, others);
          },
      .threads = {[&] { publish_live(*of.owner); },
                  [&] {
                    book_free(*of.other, of.account, nullptr, freed);
                    told_before = header.peak_epoch == epoch_before;
                  }},
      .end =
          [&] {
            const std::int64_t known = held_at_peak(owners_cell) + held_at_peak(of.own());
            const std::int64_t error = std::int64_t{header.peak_threads} * header.hold_back_bytes;
            MODEL_EXPECT(header.live_bytes == owners + others - freed);
            MODEL_EXPECT(!told_before || header.peak_bytes - known <= error);
          }};
  const model::exploration done = model::explore(freed_beside, 2);
  std::printf("%llu runs\n", static_cast<unsigned long long>(done.runs));
  EXPECT_EQ(done.failure, "");
  EXPECT_GE(done.runs, 50u);
}

// One part has changed since the peak, the other has not.
TEST(interleavings, fold_after_the_peak_moved) {
  shared_account of;
  for (const bool own_is_settled : {true, false}) {
    segment.header->peak_epoch = peak_epoch = epoch_before + 1;
    fill(of.own(), of.account, own_at_peak, own_now);
    fill(of.shared(), of.account, others_at_peak, others_now);
    (own_is_settled ? of.own() : of.shared()).peak_epoch = peak_epoch;
    of.fold();
    EXPECT_EQ(held_at_peak(of.shared()), own_is_settled ? own_at_peak + others_now : own_now + others_at_peak);
  }
}

// A realloc failed, and the peak has moved since its free was booked; that cell may have been folded meanwhile.
TEST(interleavings, take_back_a_free_after_the_peak_moved) {
  shared_account of;
  constexpr std::size_t bytes = 100;
  const char last = 0;
  for (const bool is_folded : {false, true}) {
    segment.header->peak_epoch = peak_epoch = epoch_before + 1;
    fill(of.own(), of.account, 0, is_folded ? 0 : own_now);
    fill(of.shared(), of.account, 0, own_now);
    of.other->live = 0;
    of.other->last_block = nullptr;
    take_back_free(*of.other, of.own(), of.account, bytes, &last);
    const wire::cell& changed = is_folded ? of.shared() : of.own();
    const wire::cell& other = is_folded ? of.own() : of.shared();
    EXPECT_EQ(held_at_peak(changed), own_now);
    EXPECT_EQ(changed.freed_bytes, -own_now - bytes);
    EXPECT_EQ(changed.frees, 3u);
    EXPECT_EQ(changed.temporaries, 2u);
    EXPECT_EQ(other.frees, 4u);
    EXPECT_EQ(other.temporaries, 3u);
    EXPECT_EQ(of.other->last_block, &last);
    EXPECT_EQ(of.other->live, static_cast<std::int64_t>(bytes));
  }
}

}  // namespace
}  // namespace heapledger::probe
