// Records of threads, where there are more threads than records.
#include "../probe_world.hpp"

namespace heapledger::probe {
namespace {

std::uint64_t all_allocations() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < segment.header->thread_count; ++i) sum += segment.threads[i].allocations;
  return sum;
}

// What ended threads did is never taken for the work of a thread that has no record of its own.
TEST(thread_records, sum_up_ended_threads_beside_one_without_a_record) {
  begin_probe_world("thread_records");
  const std::uint32_t first = open_thread_record();
  std::uint32_t last = first;
  while (const std::uint32_t next = open_thread_record()) last = next;
  books* const without = acquire_books(0);
  ASSERT_NE(without, nullptr);
  without->thread->allocations = 1;
  for (const std::uint32_t ended : {first, first + 1, last}) {
    segment.threads[ended].allocations = 10;
    close_thread_record(ended);
  }
  for (int i = 0; i < 2; ++i) EXPECT_NE(open_thread_record(), 0u);
  EXPECT_EQ(open_thread_record(), 0u) << "one is needed for the sum";
  EXPECT_EQ(without->thread->allocations, 1u);
  EXPECT_EQ(all_allocations(), 31u);

  release_books(without);
  EXPECT_NE(open_thread_record(), 0u);
  EXPECT_EQ(segment.threads[0].allocations, 31u);
  EXPECT_EQ(all_allocations(), 31u);
}

}  // namespace
}  // namespace heapledger::probe
