// The five properties that the articles on Qt's pool allocator ask of one, seen through an analyzer, for every
// threading policy.
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "support.hpp"

namespace heapledger::tests {
namespace {

template <class Threading>
class pool_properties : public ::testing::Test {
 public:
  using pool_type = pool<32, Threading, no_header, counting<Threading>, no_checks>;
};
TYPED_TEST_SUITE(pool_properties, every_threading, threading_names);

template <class Pool>
std::vector<void*> fill_a_page(Pool& pool) {
  std::vector<void*> chunks;
  for (std::size_t i = 0; i < Pool::chunks_per_page; ++i) chunks.push_back(pool.allocate());
  return chunks;
}

TYPED_TEST(pool_properties, a_full_page_with_a_free_chunk_needs_no_other_page) {
  typename TestFixture::pool_type pool;
  EXPECT_EQ(pool.analyzer().pages(), 0u);
  auto chunks = fill_a_page(pool);
  EXPECT_EQ(pool.analyzer().pages(), 1u);
  pool.deallocate(chunks[0]);
  chunks[0] = pool.allocate();
  EXPECT_EQ(pool.analyzer().pages(), 1u);
  EXPECT_EQ(std::set<void*>(chunks.begin(), chunks.end()).size(), chunks.size());
  for (void* chunk : chunks) pool.deallocate(chunk);
}

TYPED_TEST(pool_properties, one_chunk_more_than_a_page_holds_needs_another_page) {
  typename TestFixture::pool_type pool;
  const auto chunks = fill_a_page(pool);
  void* const one_more = pool.allocate();
  EXPECT_EQ(pool.analyzer().pages(), 2u);
  pool.deallocate(one_more);
  for (void* chunk : chunks) pool.deallocate(chunk);
  EXPECT_EQ(pool.analyzer().chunks_in_use(), 0u);
}

TYPED_TEST(pool_properties, the_arena_of_a_thread_that_ends_is_kept) {
  if constexpr (std::is_same_v<TypeParam, threading::single>) return;
  typename TestFixture::pool_type pool;
  void* chunk = nullptr;
  std::thread([&] { chunk = pool.allocate(); }).join();
  auto& seen = pool.analyzer();
  EXPECT_EQ(seen.arenas_created, 1u);
  EXPECT_EQ(seen.arenas_stale, (std::is_same_v<TypeParam, threading::thread_cached> ? 1u : 0u));
  EXPECT_EQ(seen.arenas_destroyed, 0u);
  EXPECT_EQ(seen.pages(), 1u) << "the chunk is still in use";
  *static_cast<int*>(chunk) = 1;
  pool.deallocate(chunk);
}

TYPED_TEST(pool_properties, a_new_thread_takes_over_a_stale_arena) {
  if constexpr (std::is_same_v<TypeParam, threading::single>) return;
  typename TestFixture::pool_type pool;
  for (int i = 0; i < 5; ++i) {
    std::thread([&] { pool.deallocate(pool.allocate()); }).join();
  }
  auto& seen = pool.analyzer();
  EXPECT_EQ(seen.arenas_created, 1u);
  EXPECT_EQ(seen.arenas_reused, (std::is_same_v<TypeParam, threading::thread_cached> ? 4u : 0u));
}

TYPED_TEST(pool_properties, threads_share_an_arena_only_if_the_policy_says_so) {
  if constexpr (std::is_same_v<TypeParam, threading::single>) return;
  typename TestFixture::pool_type pool;
  constexpr unsigned threads = 4;
  std::mutex lock;
  std::condition_variable all_there;
  unsigned there = 0;
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      void* const chunk = pool.allocate();
      {
        std::unique_lock hold(lock);
        if (++there == threads) all_there.notify_all();
        all_there.wait(hold, [&] { return there == threads; });
      }
      pool.deallocate(chunk);
    });
  }
  for (auto& one : running) one.join();
  auto& seen = pool.analyzer();
  EXPECT_EQ(seen.arenas_created, (std::is_same_v<TypeParam, threading::thread_cached> ? threads : 1u));
  EXPECT_EQ(seen.allocations, threads);
  EXPECT_EQ(seen.chunks_in_use(), 0u);
}

}  // namespace
}  // namespace heapledger::tests
