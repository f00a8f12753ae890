// Headers, analyzers, the bypass, and that empty policies take no room.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "heapledger/pool/publish.hpp"
#include "support.hpp"

namespace heapledger::tests {
namespace {

inline constexpr pool_options plain{.tool = memory_tool::none};

struct other_empty_header {};
struct other_empty_analyzer : no_analyzer {};
struct other_empty_checks : no_checks {};

TEST(pool_policies, take_no_room_when_they_are_empty) {
  using bare = pool<48, threading::single, no_header, no_analyzer, no_checks, plain>;
  using other = pool<48, threading::single, other_empty_header, other_empty_analyzer, other_empty_checks, plain>;
  EXPECT_EQ(sizeof(bare), sizeof(pool_identity) + sizeof(pool_detail::one_arena<bare::layout>) +
                              sizeof(pool_detail::page_store<bare::layout>));
  EXPECT_EQ(sizeof(other), sizeof(bare));
  EXPECT_EQ(bare::layout::stride, 48u);
  EXPECT_EQ(other::layout::stride, 48u);
  EXPECT_EQ(bare::chunks_per_page, bare::page_bytes / 48);
  EXPECT_EQ(other::chunks_per_page, bare::chunks_per_page);
}

static_assert(pool_header<int> && !pool_header<int[4]> && !pool_header<const int>);
// Forgotten arguments: they would be made with each chunk, and do nothing.
static_assert(!pool_header<analyzers<counting<>, sizes<>>> && !pool_header<published<>> && !pool_header<exact_checks>);
template <class T>
inline constexpr bool is_threading = pool_threading<T, pool<48>::layout>;
static_assert(is_threading<threading::single> && is_threading<threading::shared_with<std::mutex>>);
static_assert(is_threading<threading::thread_cached> && !is_threading<std::mutex>);

TEST(pool_histogram, has_a_lowest_and_a_highest_value_in_each_bucket) {
  using histogram = log_histogram<false>;
  histogram counts;
  for (std::size_t bucket = 0; bucket < histogram::buckets; ++bucket) {
    counts.add(histogram::lowest(bucket));
    counts.add(histogram::highest(bucket));
    EXPECT_EQ(counts.count(bucket), 2u) << bucket;
  }
  EXPECT_EQ(histogram::highest(histogram::buckets - 1), ~std::uint64_t{0});
}

struct counted {
  static inline int alive = 0;
  int number = 42;
  counted() noexcept { ++alive; }
  ~counted() { --alive; }
};

template <header_place Place>
struct place_of {
  static constexpr header_place value = Place;
};
template <class Place>
class pool_headers : public ::testing::Test {};
using every_place = ::testing::Types<place_of<header_place::front>, place_of<header_place::beside>>;
TYPED_TEST_SUITE(pool_headers, every_place);

TYPED_TEST(pool_headers, live_as_long_as_their_chunks) {
  counted::alive = 0;
  {
    using pool_type = pool<24, threading::single, counted, no_analyzer, no_checks,
                           pool_options{.header = TypeParam::value, .tool = memory_tool::none}>;
    pool_type pool;
    std::vector<void*> chunks;
    for (int i = 0; i < 5000; ++i) {
      chunks.push_back(pool.allocate());
      EXPECT_EQ(pool_type::header(chunks.back())->number, 42);
      pool_type::header(chunks.back())->number = i;
      std::memset(chunks.back(), 0xff, 24);
    }
    EXPECT_EQ(counted::alive, 5000);
    for (int i = 0; i < 5000; ++i) EXPECT_EQ(pool_type::header(chunks[static_cast<std::size_t>(i)])->number, i);
    for (int i = 0; i < 1000; ++i) pool.deallocate(chunks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(counted::alive, 4000);
    if constexpr (TypeParam::value == header_place::beside) {
      EXPECT_EQ(pool_type::layout::stride, 24u) << "chunks stay dense";
    }
    pool.reset();
    EXPECT_EQ(counted::alive, 0);
    (void)pool.allocate();
  }
  EXPECT_EQ(counted::alive, 0) << "destroyed with the pool";
}

struct empty_and_counted {
  static inline int alive = 0;
  empty_and_counted() noexcept { ++alive; }
  ~empty_and_counted() { --alive; }
};

TYPED_TEST(pool_headers, are_made_and_destroyed_when_they_are_empty) {
  {
    pool<24, threading::single, empty_and_counted, no_analyzer, all_checks,
         pool_options{.header = TypeParam::value, .tool = memory_tool::none}>
        pool;
    void* const chunk = pool.allocate();
    void* const other = pool.allocate();
    EXPECT_EQ(empty_and_counted::alive, 2);
    EXPECT_NE(pool.header(chunk), nullptr);
    pool.deallocate(chunk);
    EXPECT_EQ(empty_and_counted::alive, 1);
    pool.deallocate(other);
  }
  EXPECT_EQ(empty_and_counted::alive, 0);
}

struct alignas(64) wide_header {
  char bytes[64] = {};
};

TYPED_TEST(pool_headers, have_their_alignment) {
  using pool_type = pool<24, threading::single, wide_header, no_analyzer, all_checks,
                         pool_options{.header = TypeParam::value, .tool = memory_tool::none}>;
  pool_type pool;
  std::vector<void*> chunks;
  for (int i = 0; i < 1000; ++i) {
    chunks.push_back(pool.allocate());
    wide_header* const header = pool_type::header(chunks.back());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(header) % 64, 0u);
    *header = {};
  }
  const caught found;
  for (void* chunk : chunks) pool.deallocate(chunk);
  EXPECT_TRUE(found.all().empty());
}

TEST(pool_headers_none, is_null) {
  pool<24> pool;
  void* const chunk = pool.allocate();
  EXPECT_EQ(pool.header(chunk), nullptr);
  pool.deallocate(chunk);
}

template <class Threading>
class pool_analyzers : public ::testing::Test {};
TYPED_TEST_SUITE(pool_analyzers, every_threading, threading_names);

TYPED_TEST(pool_analyzers, see_sizes_lifetimes_and_counts) {
  pool<112, TypeParam, birth_time, analyzers<counting<TypeParam>, sizes<TypeParam>, lifetimes<TypeParam>>, no_checks>
      pool;
  std::vector<void*> chunks;
  for (int i = 0; i < 100; ++i) chunks.push_back(pool.allocate(24));
  for (int i = 0; i < 10; ++i) chunks.push_back(pool.allocate(112));
  for (int i = 0; i < 105; ++i) {
    pool.deallocate(chunks.back());
    chunks.pop_back();
  }
  const auto& seen = pool.analyzer();
  EXPECT_EQ(seen.allocations, 110u);
  EXPECT_EQ(seen.allocated_bytes, 100u * 24 + 10 * 112);
  EXPECT_EQ(seen.frees, 105u);
  EXPECT_EQ(seen.chunks_in_use(), 5u);
  EXPECT_EQ(seen.asked_bytes.count(5), 100u) << "16 to 31 bytes";
  EXPECT_EQ(seen.asked_bytes.count(7), 10u) << "64 to 127 bytes";
  EXPECT_EQ(seen.asked_bytes.total(), 110u);
  EXPECT_EQ(seen.age_ns.total(), 105u);
  EXPECT_EQ(seen.age_ns.count(0), 0u) << "nothing dies in less than a nanosecond";
  for (void* chunk : chunks) pool.deallocate(chunk);
}

TYPED_TEST(pool_analyzers, list_leaks_with_their_stacks) {
  std::vector<leaked_chunk> leaks;
  std::vector<void*> kept;
  {
    pool<48, TypeParam, call_stack<>, leak_list, no_checks> pool;
    pool.analyzer().into = &leaks;
    std::vector<void*> chunks;
    for (int i = 0; i < 3000; ++i) chunks.push_back(pool.allocate());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (i % 500 == 7) {
        kept.push_back(chunks[i]);
      } else {
        pool.deallocate(chunks[i]);
      }
    }
  }
  ASSERT_EQ(leaks.size(), 6u);
  std::vector<void*> found;
  for (const auto& leak : leaks) {
    found.push_back(leak.chunk);
    EXPECT_GE(leak.allocated_at.size(), 3u);
  }
  std::sort(found.begin(), found.end());
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(found, kept);
}

// Read while another thread changes it, it may be old, but not less than nothing.
TYPED_TEST(pool_analyzers, count_what_is_in_use_for_other_threads) {
  pool<48, TypeParam, no_header, counting<TypeParam>, no_checks> pool;
  std::atomic<bool> done = false;
  std::thread busy([&] {
    while (!done) pool.deallocate(pool.allocate());
  });
  std::uint64_t most = 0;
  for (int i = 0; i < 3'000'000; ++i) most = std::max(most, pool.analyzer().chunks_in_use());
  done = true;
  busy.join();
  EXPECT_LT(most, std::uint64_t{1} << 40);
}

TEST(pool_analyzers_end, every_page_and_arena_that_came_goes) {
  struct outlives : no_analyzer {
    counting<>* to = nullptr;
    void arena_created(const void* arena) { to->arena_created(arena); }
    void arena_destroyed(const void* arena) { to->arena_destroyed(arena); }
    void page_allocated(void* page, std::size_t bytes) { to->page_allocated(page, bytes); }
    void page_freed(void* page, std::size_t bytes) { to->page_freed(page, bytes); }
  };
  counting<> seen;
  {
    pool<64, threading::thread_cached, no_header, outlives, no_checks> pool;
    pool.analyzer().to = &seen;
    for (int i = 0; i < 10'000; ++i) (void)pool.allocate();
    std::thread([&] { (void)pool.allocate(); }).join();
  }
  EXPECT_EQ(seen.arenas_created, 2u);
  EXPECT_EQ(seen.arenas_destroyed, 2u);
  EXPECT_EQ(seen.pages_freed, seen.pages_allocated);
}

TEST(pool_bypass, sends_every_chunk_to_malloc) {
  using pool_type = pool<48, threading::thread_cached, birth_time, counting<>, all_checks,
                         pool_options{.alignment = 128, .bypass = true}>;
  pool_type pool;
  std::vector<void*> chunks;
  for (int i = 0; i < 1000; ++i) {
    chunks.push_back(pool.allocate());
    std::memset(chunks.back(), 1, 48);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunks.back()) % 128, 0u);
    EXPECT_GT(pool_type::header(chunks.back())->born_ns, 0u);
  }
  EXPECT_EQ(pool.analyzer().pages_allocated, 0u);
  EXPECT_EQ(pool.analyzer().allocations, 1000u);
  for (void* chunk : chunks) pool.deallocate(chunk);
}

TEST(pool_bypass, has_headers_where_they_are_aligned) {
  using pool_type = pool<48, threading::single, wide_header, no_analyzer, no_checks,
                         pool_options{.header = header_place::beside, .bypass = true}>;
  pool_type pool;
  std::vector<void*> chunks;
  for (int i = 0; i < 20; ++i) {
    chunks.push_back(pool.allocate());
    auto address = reinterpret_cast<std::uintptr_t>(pool_type::header(chunks.back()));
    asm("" : "+r"(address));
    EXPECT_EQ(address % 64, 0u);
  }
  for (void* chunk : chunks) pool.deallocate(chunk);
}

struct notices_company : no_analyzer {
  std::atomic<int> inside = 0;
  std::atomic<bool> had_company = false;
  void allocated(void*, std::size_t, auto*) noexcept { look(); }
  void freed(void*, auto*) noexcept { look(); }
  void look() noexcept {
    if (inside++ != 0) had_company = true;
    ::sched_yield();
    --inside;
  }
};

TEST(pool_bypass, tells_an_analyzer_under_the_lock_of_the_pool) {
  pool<48, threading::shared, no_header, notices_company, no_checks, pool_options{.bypass = true}> pool;
  auto busy = [&] {
    for (int i = 0; i < 2000; ++i) pool.deallocate(pool.allocate());
  };
  std::thread other(busy);
  busy();
  other.join();
  EXPECT_FALSE(pool.analyzer().had_company);
}

template <class Pool>
concept knows_its_chunks = requires(Pool& pool) {
  pool.reset();
  pool.chunks_in_use();
  pool.owns(nullptr);
};
static_assert(knows_its_chunks<pool<48>>);
static_assert(
    !knows_its_chunks<pool<48, threading::single, no_header, no_analyzer, no_checks, pool_options{.bypass = true}>>);

}  // namespace
}  // namespace heapledger::tests
