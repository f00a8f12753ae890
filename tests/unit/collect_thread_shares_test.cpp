#include <gtest/gtest.h>

#include "segment_builder.hpp"
#include "tool/collect/segment.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

class collect_thread_shares : public ::testing::Test {
 protected:
  collect_thread_shares() {
    for (const char* name : {"one", "two"}) builder.add_thread(100, name);
    builder.writers.resize(2);
    builder.writer_books = {{.thread = 2, .reserved0 = 0, .own_cells = 0},
                            {.thread = 3, .reserved0 = 0, .own_cells = 0}};
    account = builder.add_account(builder.add_node(0, 0x1000));
    builder.account_keys[account].owner = 1;
    book(builder.accounts[account], 10);
    for (auto& thread : builder.threads) thread.allocations = 1;
  }

  static void book(wire::cell& cell, std::uint64_t allocations) {
    cell.allocations = allocations;
    cell.allocated_bytes = 8 * allocations;
    cell.temporaries = 1;
  }
  // A cell of the second writer.
  wire::cell& foreign_cell() {
    wire::cell& cell = builder.add_cell(account);
    builder.writer_books[1].own_cells = std::uint64_t{1} << 32 | (builder.cells.size() - 1);
    return cell;
  }
  profile collected() {
    const memory_file file(builder.bytes());
    return collect_segment(file.path());
  }

  segment_builder builder;
  std::uint32_t account = 0;
};

TEST_F(collect_thread_shares, a_stack_of_one_thread_is_the_threads) {
  foreign_cell().frees = 10;  // who frees does not matter
  const auto result = collected();
  ASSERT_EQ(result.stacks.size(), 1u);
  ASSERT_LT(result.stacks[0].thread, result.threads.size());
  EXPECT_EQ(result.threads[result.stacks[0].thread].name, "one");
  EXPECT_TRUE(result.thread_shares.empty());
}

TEST_F(collect_thread_shares, several_threads_have_what_each_allocated) {
  book(foreign_cell(), 5);
  const auto result = collected();
  EXPECT_EQ(result.stacks[0].thread, none);
  ASSERT_EQ(result.thread_shares.size(), 2u);
  EXPECT_EQ(result.thread_shares[0].allocations, 10u);
  EXPECT_EQ(result.thread_shares[1].allocations, 5u);
  EXPECT_EQ(result.thread_shares[1].allocated_bytes, 40u);
  EXPECT_EQ(result.threads[result.thread_shares[1].thread].name, "two");
}

TEST_F(collect_thread_shares, what_nobody_speaks_for_is_nobodys) {
  builder.writer_books[0].thread = wire::several_threads;
  EXPECT_EQ(collected().stacks[0].thread, none);
  builder.writer_books[0].thread = 2;
  builder.account_keys[account].owner |= wire::owner_changed;
  EXPECT_EQ(collected().stacks[0].thread, none);
  builder.account_keys[account].owner = 0;
  EXPECT_EQ(collected().stacks[0].thread, none);
  builder.account_keys[account].owner = 1;
  book(builder.add_cell(account), 5);  // of no table: it was folded
  const auto result = collected();
  EXPECT_EQ(result.stacks[0].thread, none);
  ASSERT_EQ(result.thread_shares.size(), 1u);
  EXPECT_EQ(result.thread_shares[0].allocations, 10u);
}

TEST_F(collect_thread_shares, a_cell_of_two_writers_is_nobodys) {
  book(foreign_cell(), 5);
  builder.writer_books[0].own_cells = std::uint64_t{7} << 32;
  const auto result = collected();
  EXPECT_EQ(result.stacks[0].thread, none);
  ASSERT_EQ(result.thread_shares.size(), 1u);
  EXPECT_EQ(result.thread_shares[0].allocations, 10u);
}

TEST_F(collect_thread_shares, writers_that_all_own_everything_cost_nothing) {
  builder.writers.resize(60'000);
  builder.writer_books.resize(builder.writers.size());
  builder.cells.resize(builder.writers.size() * 8);
  for (auto& book : builder.writer_books)
    book = {.thread = 1, .reserved0 = 0, .own_cells = std::uint64_t{builder.cells.size()} << 32};
  EXPECT_EQ(collected().totals().allocations, 10u);
}

TEST_F(collect_thread_shares, a_hostile_segment_names_nobody) {
  builder.writer_books[0] = {.thread = 4711, .reserved0 = 0, .own_cells = ~std::uint64_t{0}};
  builder.writer_books[1].own_cells = std::uint64_t{UINT32_MAX} << 32 | 0xfffffff0;
  builder.account_keys[account].owner = wire::owner_writer;
  builder.add_cell(account).allocations = std::uint64_t{1} << 63;
  EXPECT_EQ(collected().stacks[0].thread, none);
}

}  // namespace
}  // namespace heapledger::collect
