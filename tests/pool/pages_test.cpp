// Pages: how well they are used, when they are kept and when they go back, and that they really do.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "support.hpp"

#if !HEAPLEDGER_POOL_UNDER_ASAN && !defined(__SANITIZE_THREAD__)
static bool refuse_heap = false;

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const block = refuse_heap ? nullptr : std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
#endif

namespace heapledger::tests {
namespace {

// Kilobytes of the mappings that hold any of [from, to), as the kernel says.
std::size_t resident_kib(const void* from, const void* to) {
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  std::size_t sum = 0;
  bool inside = false;
  while (std::getline(smaps, line)) {
    std::size_t low = 0, high = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &low, &high) == 2) {
      inside = high > reinterpret_cast<std::size_t>(from) && low < reinterpret_cast<std::size_t>(to);
    } else if (inside && std::sscanf(line.c_str(), "Rss: %zu", &kib) == 1) {
      sum += kib;
    }
  }
  return sum;
}

TEST(pool_pages, hold_little_but_chunks) {
  auto used = []<std::size_t Bytes>() {
    using bare = pool<Bytes, threading::thread_cached, no_header, no_analyzer, no_checks,
                      pool_options{.tool = memory_tool::none}>;
    return static_cast<double>(Bytes * bare::chunks_per_page) / bare::page_bytes;
  };
  EXPECT_GE(used.operator()<8>(), 0.99);
  EXPECT_GE(used.operator()<16>(), 0.99);
  EXPECT_GE(used.operator()<24>(), 0.99);
  EXPECT_GE(used.operator()<48>(), 0.99);
  EXPECT_GE(used.operator()<112>(), 0.99);
  EXPECT_GE(used.operator()<512>(), 0.99);
  EXPECT_GE(used.operator()<4096>(), 0.99);
}

template <class Pool>
void fill_two_pages() {
  Pool pool;
  std::vector<void*> chunks(2 * Pool::chunks_per_page);
  for (void*& chunk : chunks) {
    chunk = pool.allocate();
    std::memset(chunk, 1, Pool::chunk_bytes);
    if constexpr (!std::is_same_v<typename Pool::header_type, no_header>) {
      EXPECT_NE(Pool::header(chunk), nullptr);
    }
  }
  for (void* chunk : chunks) pool.deallocate(chunk);
  EXPECT_EQ(pool.chunks_in_use(), 0u);
}

TEST(pool_pages, hold_a_chunk_and_what_checks_and_tools_put_beside_it) {
  constexpr std::size_t bytes = 65536;
  constexpr pool_options small{.page_bytes = bytes};
  constexpr pool_options beside{.page_bytes = bytes, .header = header_place::beside};
  constexpr pool_options plain{.page_bytes = bytes, .tool = memory_tool::none};
  using bare = pool<bytes, threading::single, no_header, no_analyzer, no_checks, plain>;
  EXPECT_EQ(bare::page_bytes, bytes);
  EXPECT_EQ(bare::chunks_per_page, 1u);
  fill_two_pages<bare>();
  fill_two_pages<pool<bytes, threading::single, no_header, no_analyzer, no_checks, small>>();
  fill_two_pages<pool<bytes, threading::single, no_header, no_analyzer, exact_checks, small>>();
  fill_two_pages<pool<bytes, threading::single, no_header, no_analyzer, all_checks, small>>();
  fill_two_pages<pool<bytes, threading::single, std::uint64_t, no_analyzer, no_checks, small>>();
  fill_two_pages<pool<bytes, threading::single, std::uint64_t, no_analyzer, all_checks, beside>>();
}

template <class Threading>
class pool_pages_of : public ::testing::Test {};
TYPED_TEST_SUITE(pool_pages_of, every_threading, threading_names);

TYPED_TEST(pool_pages_of, go_back_to_the_system_when_they_are_empty) {
  using pool_type = pool<64, TypeParam, no_header, counting<TypeParam>, no_checks>;
  pool_type pool;
  std::vector<void*> chunks;
  for (std::size_t i = 0; i < 100 * pool_type::chunks_per_page; ++i) {
    chunks.push_back(pool.allocate());
    std::memset(chunks.back(), 1, 64);
  }
  const auto [low, high] = std::minmax_element(chunks.begin(), chunks.end());
  const char* const from = static_cast<char*>(*low);
  const char* const to = static_cast<char*>(*high);
  EXPECT_EQ(pool.analyzer().pages(), 100u);
  EXPECT_EQ(pool.pages(), 100u);
  const std::size_t full_kib = resident_kib(from, to);
  EXPECT_GE(full_kib, 100u * 64);
  std::shuffle(chunks.begin(), chunks.end(), std::mt19937(1));
  for (void* chunk : chunks) pool.deallocate(chunk);
  EXPECT_LE(pool.analyzer().pages(), 6u) << "the current one, and those that are kept";
  EXPECT_LE(resident_kib(from, to), full_kib - 90 * 64);
  pool.trim();
  EXPECT_EQ(pool.analyzer().pages(), 0u);
  EXPECT_EQ(pool.analyzer().pages_freed, pool.analyzer().pages_allocated);
  EXPECT_LE(resident_kib(from, to), full_kib - 100 * 64);
}

// The last chunks that are freed are of as many pages: if they stayed at hand they would keep them all.
TYPED_TEST(pool_pages_of, are_not_kept_by_chunks_at_hand) {
  using pool_type = pool<512, TypeParam, no_header, counting<TypeParam>, no_checks>;
  pool_type pool;
  constexpr std::size_t pages = 200;
  std::vector<void*> chunks(pages * pool_type::chunks_per_page);
  for (void*& chunk : chunks) chunk = pool.allocate();
  EXPECT_EQ(pool.analyzer().pages(), pages);
  for (std::size_t i = 0; i < pool_type::chunks_per_page; ++i) {
    for (std::size_t k = i; k < chunks.size(); k += pool_type::chunks_per_page) pool.deallocate(chunks[k]);
  }
  EXPECT_LE(pool.analyzer().pages(), 6u) << "the current one, and those that are kept";
  for (void*& chunk : chunks) chunk = pool.allocate();
  EXPECT_EQ(std::set<void*>(chunks.begin(), chunks.end()).size(), chunks.size());
  for (void* chunk : chunks) pool.deallocate(chunk);
  EXPECT_EQ(pool.chunks_in_use(), 0u);
}

TYPED_TEST(pool_pages_of, are_kept_by_a_pool_that_comes_and_goes) {
  using pool_type = pool<64, TypeParam, no_header, counting<TypeParam>, no_checks>;
  pool_type pool;
  std::vector<void*> chunks(40 * pool_type::chunks_per_page);
  std::uint64_t taken_before = 0;
  for (int round = 0; round < 12; ++round) {
    taken_before = pool.analyzer().pages_allocated;
    for (void*& chunk : chunks) chunk = pool.allocate();
    for (void* chunk : chunks) pool.deallocate(chunk);
  }
  EXPECT_EQ(pool.analyzer().pages_allocated, taken_before) << "the last round took no page from the system";
  pool.trim();
  EXPECT_EQ(pool.pages(), 0u);
}

TYPED_TEST(pool_pages_of, are_reused_before_new_ones_are_taken) {
  using pool_type = pool<64, TypeParam, no_header, counting<TypeParam>, no_checks>;
  pool_type pool;
  std::vector<void*> chunks(10 * pool_type::chunks_per_page);
  for (void*& chunk : chunks) chunk = pool.allocate();
  std::shuffle(chunks.begin(), chunks.end(), std::mt19937(2));
  const std::size_t half = chunks.size() / 2;
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < half; ++i) pool.deallocate(chunks[i]);
    for (std::size_t i = 0; i < half; ++i) chunks[i] = pool.allocate();
  }
  EXPECT_EQ(std::set<void*>(chunks.begin(), chunks.end()).size(), chunks.size());
  EXPECT_EQ(pool.analyzer().pages_allocated, 10u);
  EXPECT_EQ(pool.chunks_in_use(), chunks.size());
  for (void* chunk : chunks) pool.deallocate(chunk);
  EXPECT_EQ(pool.chunks_in_use(), 0u);
}

TYPED_TEST(pool_pages_of, are_all_free_after_a_reset) {
  using pool_type = pool<40, TypeParam, no_header, counting<TypeParam>, exact_checks>;
  pool_type pool;
  std::vector<void*> chunks(3 * pool_type::chunks_per_page);
  for (int round = 0; round < 3; ++round) {
    for (void*& chunk : chunks) {
      chunk = pool.allocate();
      std::memset(chunk, 7, 40);
    }
    EXPECT_EQ(pool.chunks_in_use(), chunks.size());
    EXPECT_EQ(std::set<void*>(chunks.begin(), chunks.end()).size(), chunks.size());
    pool.reset();
    EXPECT_EQ(pool.chunks_in_use(), 0u);
    EXPECT_EQ(pool.analyzer().chunks_in_use(), 0u);
  }
  EXPECT_EQ(pool.analyzer().pages_allocated, 3u);
}

TEST(pool_pages, chunks_are_aligned_as_asked) {
  auto aligned = []<std::size_t Bytes, std::size_t Alignment, class Header, class Checks>() {
    pool<Bytes, threading::single, Header, no_analyzer, Checks, pool_options{.alignment = Alignment}> pool;
    for (int i = 0; i < 5000; ++i) {
      void* const chunk = pool.allocate();
      if (reinterpret_cast<std::uintptr_t>(chunk) % Alignment != 0) return false;
      std::memset(chunk, i, Bytes);
    }
    pool.reset();
    return true;
  };
  EXPECT_TRUE((aligned.operator()<1, 8, no_header, no_checks>()));
  EXPECT_TRUE((aligned.operator()<40, 64, no_header, no_checks>()));
  EXPECT_TRUE((aligned.operator()<40, 64, birth_time, exact_checks>()));
  EXPECT_TRUE((aligned.operator()<100, 4096, birth_time, all_checks>()));
  EXPECT_TRUE((aligned.operator()<4096, 4096, no_header, no_checks>()));
  EXPECT_TRUE((aligned.operator()<30000, 32, birth_time, exact_checks>()));
}

TEST(pool_pages, remote_frees_come_back_to_the_page_they_left) {
  using pool_type = pool<64, threading::thread_cached, no_header, counting<>, no_checks>;
  pool_type pool;
  std::vector<void*> chunks(20 * pool_type::chunks_per_page);
  for (int round = 0; round < 5; ++round) {
    for (void*& chunk : chunks) chunk = pool.allocate();
    std::thread([&] {
      for (void* chunk : chunks) pool.deallocate(chunk);
    }).join();
  }
  EXPECT_EQ(pool.chunks_in_use(), 0u);
  EXPECT_LE(pool.analyzer().pages_allocated, 50u);
  pool.trim();
  EXPECT_EQ(pool.pages(), 0u);
}

TEST(pool_pages, what_a_thread_freed_is_there_when_it_has_ended) {
  using pool_type = pool<64, threading::thread_cached, no_header, counting<>, no_checks>;
  pool_type pool;
  std::vector<void*> chunks(pool_type::chunks_per_page);
  for (void*& chunk : chunks) chunk = pool.allocate();
  constexpr std::size_t few = 10;  // fewer than a parcel holds
  std::thread([&] {
    for (std::size_t i = 0; i < few; ++i) pool.deallocate(chunks[i]);
  }).join();
  for (std::size_t i = 0; i < few; ++i) chunks[i] = pool.allocate();
  EXPECT_EQ(pool.analyzer().pages_allocated, 1u);
  EXPECT_EQ(std::set<void*>(chunks.begin(), chunks.end()).size(), chunks.size());
}

TEST(pool_pages, more_than_a_chunk_is_refused) {
  pool<64> pool;
  EXPECT_EQ(pool.try_allocate(65), nullptr);
  EXPECT_THROW((void)pool.allocate(65), std::bad_alloc);
}

TEST(pool_pages, larger_than_usual_are_walked_whole) {
  pool<8, threading::single, no_header, no_analyzer, no_checks, pool_options{.page_bytes = 1 << 20}> pool;
  std::set<void*> chunks;
  for (int i = 0; i < 50'000; ++i) chunks.insert(pool.allocate());
  for (auto one = chunks.begin(); one != chunks.end();) {
    pool.deallocate(*one);
    one = chunks.erase(one);
    if (one != chunks.end()) ++one;
  }
  std::set<void*> found;
  pool.for_each_in_use([&](void* chunk) { EXPECT_TRUE(found.insert(chunk).second); });
  EXPECT_EQ(found, chunks);
}

#if !HEAPLEDGER_POOL_UNDER_ASAN && !defined(__SANITIZE_THREAD__)
template <class Threading>
int chunks_until_memory_ends() {
  pool<4096, Threading, no_header, no_analyzer, exact_checks> pool;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::size_t{1} << 30;
  ::setrlimit(RLIMIT_AS, &limit);
  std::vector<void*> chunks;
  chunks.reserve(1 << 20);
  while (void* const chunk = pool.try_allocate()) chunks.push_back(chunk);
  bool thrown = false;
  try {
    (void)pool.allocate();
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  const std::size_t most = chunks.size();
  for (void* chunk : chunks) pool.deallocate(chunk);
  void* const again = pool.try_allocate();
  if (again == nullptr || !thrown || most < 10'000) return 1;
  pool.deallocate(again);
  return 0;
}

// Neither reset nor the end of a pool may need memory from the heap.
template <class Threading>
int resets_without_memory() {
  {
    pool<64, Threading, birth_time, no_analyzer, exact_checks> pool;
    std::vector<void*> chunks(5000);
    for (void*& chunk : chunks) chunk = pool.allocate();
    pool.chunks_in_use();
    refuse_heap = true;
    pool.reset();
    (void)pool.try_allocate();
  }
  refuse_heap = false;
  return 0;
}

TYPED_TEST(pool_pages_of, are_reset_without_the_heap) {
  EXPECT_EXIT(std::_Exit(resets_without_memory<TypeParam>()), ::testing::ExitedWithCode(0), "");
}

TYPED_TEST(pool_pages_of, end_in_null_or_bad_alloc_and_the_pool_goes_on) {
  EXPECT_EXIT(std::_Exit(chunks_until_memory_ends<TypeParam>()), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace heapledger::tests
