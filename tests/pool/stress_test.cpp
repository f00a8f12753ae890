// Threads that allocate here and free there, come and go, at the same time; meant for TSan, and for finding chunks that
// two threads hold at once.
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "support.hpp"

namespace heapledger::tests {
namespace {

struct item {
  std::uint64_t owner;
  std::uint64_t number;
  std::uint64_t check;
};

// A place where a thread leaves a chunk for another one to take.
using exchange = std::vector<std::atomic<item*>>;

template <class Pool>
std::uint64_t work(Pool& pool, exchange& places, std::uint64_t thread, int steps, bool trims) {
  std::mt19937_64 random(thread);
  std::vector<item*> mine;
  std::uint64_t torn = 0;
  auto release = [&](item* one) {
    if (one->check != (one->owner ^ one->number ^ 0x5555)) ++torn;
    std::memset(static_cast<void*>(one), 0xEE, sizeof *one);
    pool.deallocate(one);
  };
  for (int step = 0; step < steps; ++step) {
    const auto dice = random() % 16;
    if (dice < 7) {
      const auto number = random();
      mine.push_back(new (pool.allocate(sizeof(item))) item{thread, number, thread ^ number ^ 0x5555});
    } else if (dice < 11 && !mine.empty()) {  // hand over, and free what another one left there
      item* const old = places[random() % places.size()].exchange(mine.back(), std::memory_order_acq_rel);
      mine.pop_back();
      if (old != nullptr) release(old);
    } else if (!mine.empty()) {
      std::swap(mine[random() % mine.size()], mine.back());
      release(mine.back());
      mine.pop_back();
    }
    if (trims && step % 1000 == 999) pool.trim();
  }
  for (item* one : mine) release(one);
  return torn;
}

template <class Pool>
void stress(bool trims) {
#ifdef __SANITIZE_THREAD__
  constexpr int steps = 6000;
#else
  constexpr int steps = 30'000;
#endif
  const caught found;
  Pool pool;
  exchange places(64);
  std::atomic<std::uint64_t> torn = 0;
  for (int generation = 0; generation < 4; ++generation) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, name = static_cast<std::uint64_t>(generation * 10 + i)] {
        torn += work(pool, places, name, steps, trims);
      });
    }
    for (auto& one : threads) one.join();
  }
  for (auto& place : places) {
    if (item* const one = place.exchange(nullptr)) pool.deallocate(one);
  }
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(pool.chunks_in_use(), 0u);
  EXPECT_EQ(pool.analyzer().chunks_in_use(), 0u);
  EXPECT_EQ(pool.analyzer().allocations, pool.analyzer().frees);
  EXPECT_TRUE(found.all().empty());
  pool.trim();
  EXPECT_EQ(pool.pages(), 0u);
}

template <class Threading>
class pool_stress : public ::testing::Test {};
using threaded = ::testing::Types<threading::shared, threading::thread_cached, threading::shared_with<std::mutex>>;
TYPED_TEST_SUITE(pool_stress, threaded);

TYPED_TEST(pool_stress, bare) {
  stress<pool<24, TypeParam, no_header, counting<TypeParam>, no_checks>>(false);
}
TYPED_TEST(pool_stress, with_checks) {
  stress<pool<24, TypeParam, no_header, counting<TypeParam>, all_checks>>(false);
}
TYPED_TEST(pool_stress, with_a_header_and_trims) {
  stress<pool<24, TypeParam, birth_time, analyzers<counting<TypeParam>, lifetimes<TypeParam>>, exact_checks>>(true);
}

// Pools and threads that begin and end around each other.
TEST(pool_stress_registry, pools_come_and_go_between_threads) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  pool<64, threading::thread_cached, no_header, no_analyzer, no_checks> common;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool<64, threading::thread_cached, no_header, no_analyzer, no_checks> own;
        void* const one = own.allocate();
        void* const other = common.allocate();
        std::thread([&] {
          own.deallocate(one);
          common.deallocate(other);
          own.deallocate(own.allocate());
        }).join();
        failures += own.chunks_in_use() != 0;
      }
    });
  }
  for (auto& one : threads) one.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(common.chunks_in_use(), 0u);
}

}  // namespace
}  // namespace heapledger::tests
