// The tools that watch memory see into a pool: a use after free, and a write past what was asked for, are found by
// themselves.
#include <algorithm>
#include <cstring>
#include <thread>

#include "support.hpp"

#if HEAPLEDGER_POOL_UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif
#ifdef HEAPLEDGER_POOL_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace heapledger::tests {
namespace {

static_assert(is_there(memory_tool::none) && is_there(default_memory_tool));
static_assert(is_there(memory_tool::address_sanitizer) == (default_memory_tool == memory_tool::address_sanitizer));
static_assert(HEAPLEDGER_POOL_UNDER_ASAN ||
              is_there(memory_tool::valgrind) == (default_memory_tool == memory_tool::valgrind));

#if HEAPLEDGER_POOL_UNDER_ASAN

template <class Threading>
class pool_under_asan : public ::testing::Test {
 public:
  using pool_type = pool<48, Threading, no_header, no_analyzer, all_checks>;
};
TYPED_TEST_SUITE(pool_under_asan, every_threading, threading_names);

TYPED_TEST(pool_under_asan, use_after_free) {
  auto use = [] {
    typename TestFixture::pool_type pool;
    auto* const chunk = static_cast<volatile char*>(pool.allocate());
    pool.deallocate(const_cast<char*>(chunk));
    chunk[20] = 1;
  };
  EXPECT_DEATH(use(), "use-after-poison");
}

TYPED_TEST(pool_under_asan, use_after_free_by_another_thread) {
  if constexpr (std::is_same_v<TypeParam, threading::single>) return;
  auto use = [] {
    typename TestFixture::pool_type pool;
    auto* const chunk = static_cast<volatile char*>(pool.allocate());
    std::thread([&] { pool.deallocate(const_cast<char*>(chunk)); }).join();
    chunk[0] = 1;
  };
  EXPECT_DEATH(use(), "use-after-poison");
}

TYPED_TEST(pool_under_asan, overflow_and_underflow) {
  auto write = [](std::ptrdiff_t offset) {
    typename TestFixture::pool_type pool;
    auto* const chunk = static_cast<volatile char*>(pool.allocate(20));
    chunk[offset] = 1;
    pool.deallocate(const_cast<char*>(chunk));
  };
  write(0);
  write(19);
  EXPECT_DEATH(write(20), "use-after-poison") << "one byte more than was asked for";
  EXPECT_DEATH(write(48), "use-after-poison");
  EXPECT_DEATH(write(-1), "use-after-poison");
}

// What is in front of it is a page's books, a header, or another page.
TYPED_TEST(pool_under_asan, underflow_of_any_chunk_of_a_page) {
  auto expect_seen = []<class Header, pool_options Options>(std::integral_constant<pool_options, Options>, Header) {
    using with_header = pool<600, TypeParam, Header, no_analyzer, no_checks, Options>;
    auto write = [](std::size_t which) {
      with_header pool;
      std::vector<volatile char*> chunks(with_header::chunks_per_page);
      for (auto& chunk : chunks) chunk = static_cast<volatile char*>(pool.allocate());
      std::sort(chunks.begin(), chunks.end());
      chunks[which][0] = 1;
      chunks[which][-1] = 1;
    };
    EXPECT_DEATH(write(0), "use-after-poison");
    EXPECT_DEATH(write(1), "use-after-poison");
  };
  constexpr pool_options beside{.header = header_place::beside};
  expect_seen(std::integral_constant<pool_options, pool_options{}>{}, no_header{});
  expect_seen(std::integral_constant<pool_options, pool_options{}>{}, int{});
  expect_seen(std::integral_constant<pool_options, beside>{}, int{});
}

TYPED_TEST(pool_under_asan, memory_is_clean_after_the_pool) {
  for (int i = 0; i < 3; ++i) {
    typename TestFixture::pool_type pool;
    std::vector<void*> chunks;
    for (int k = 0; k < 5000; ++k) chunks.push_back(pool.allocate());
    for (void* chunk : chunks) pool.deallocate(chunk);
    pool.trim();
  }
  std::vector<char> large(std::size_t{16} << 20);
  std::memset(large.data(), 1, large.size());
}

// What only a chunk points to is no leak.
TYPED_TEST(pool_under_asan, leaks_are_looked_for_in_chunks) {
  static typename TestFixture::pool_type pool;
  static char** chunk = static_cast<char**>(pool.allocate());
  std::thread([] { *chunk = new char[100]; }).join();  // nothing of it stays on this stack
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
  delete[] * chunk;
  pool.deallocate(chunk);
}

#elif defined(HEAPLEDGER_POOL_VALGRIND)

template <class Threading>
class pool_under_valgrind : public ::testing::Test {
 public:
  using pool_type = pool<48, Threading, no_header, no_analyzer, exact_checks>;
};
TYPED_TEST_SUITE(pool_under_valgrind, every_threading, threading_names);

// How many errors memcheck sees in it.
template <class F>
unsigned errors_in(F&& work) {
  const unsigned before = VALGRIND_COUNT_ERRORS;
  work();
  return VALGRIND_COUNT_ERRORS - before;
}

TYPED_TEST(pool_under_valgrind, use_after_free_and_overflow) {
  if (!RUNNING_ON_VALGRIND) GTEST_SKIP() << "not under valgrind";
  const caught found;  // the write in front of the chunk hits the mark, too
  typename TestFixture::pool_type pool;
  auto* const chunk = static_cast<volatile char*>(pool.allocate(20));
  EXPECT_EQ(errors_in([&] { chunk[19] = 1; }), 0u);
  EXPECT_EQ(errors_in([&] { chunk[20] = 1; }), 1u);
  EXPECT_EQ(errors_in([&] { pool.deallocate(const_cast<char*>(chunk)); }), 0u);
  EXPECT_EQ(errors_in([&] { chunk[8] = 1; }), 1u);
  auto* const other = static_cast<volatile char*>(pool.allocate());
  EXPECT_EQ(errors_in([&] { other[-1] = 1; }), 1u);
  pool.deallocate(const_cast<char*>(other));
  EXPECT_EQ(found.kinds(), std::vector{violation_kind::underflow});
}

TYPED_TEST(pool_under_valgrind, a_refused_free_leaves_the_chunk_as_it_was) {
  if (!RUNNING_ON_VALGRIND) GTEST_SKIP() << "not under valgrind";
  const caught found;
  typename TestFixture::pool_type pool;
  auto* const chunk = static_cast<char*>(pool.allocate());
  std::memset(chunk, 1, 32);
  pool.deallocate(chunk + 16);
  EXPECT_EQ(found.kinds(), std::vector{violation_kind::middle_pointer});
  EXPECT_EQ(std::size_t{VALGRIND_CHECK_MEM_IS_DEFINED(chunk, 32)}, 0u);
  EXPECT_EQ(std::size_t{VALGRIND_CHECK_MEM_IS_ADDRESSABLE(chunk, 48)}, 0u);
  EXPECT_NE(std::size_t{VALGRIND_CHECK_MEM_IS_ADDRESSABLE(chunk - 8, 8)}, 0u);
  pool.deallocate(chunk);
  EXPECT_NE(std::size_t{VALGRIND_CHECK_MEM_IS_ADDRESSABLE(chunk, 48)}, 0u);
}

#else

TEST(pool_tools, cost_nothing_when_there_is_none) {
  EXPECT_EQ((pool<48, threading::single, no_header, no_analyzer, no_checks>::layout::stride), 48u);
}

#endif

}  // namespace
}  // namespace heapledger::tests
