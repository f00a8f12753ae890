// Every check finds the bug planted for it, says so in the right words, and leaves the pool whole; correct code runs
// clean.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>

#include "support.hpp"

namespace heapledger::tests {
namespace {

template <class Threading>
class pool_checks_of : public ::testing::Test {
 public:
  using plain = pool<48, Threading, no_header, no_analyzer, exact_checks, marks>;
  using with_stack = pool<48, Threading, call_stack<8>, no_analyzer, exact_checks, marks>;
  using filled = pool<48, Threading, no_header, no_analyzer, all_checks, marks>;
};
TYPED_TEST_SUITE(pool_checks_of, every_threading, threading_names);

using kinds = std::vector<violation_kind>;

// After a mistake: no chunk is handed out twice, and everything can be allocated and freed as before.
template <class Pool>
void expect_whole(Pool& pool) {
  std::vector<char*> chunks;
  for (std::size_t i = 0; i < 2 * Pool::chunks_per_page; ++i) {
    chunks.push_back(static_cast<char*>(pool.allocate()));
    std::memcpy(chunks.back(), &chunks.back(), sizeof(char*));
  }
  for (char* chunk : chunks) {
    EXPECT_EQ(std::memcmp(chunk, &chunk, sizeof(char*)), 0);
    pool.deallocate(chunk);
  }
}

TYPED_TEST(pool_checks_of, correct_code_runs_clean) {
  const caught found;
  auto busy = [](auto& pool) {
    std::mt19937 random(3);
    std::vector<void*> live;
    for (int i = 0; i < 20'000; ++i) {
      if (live.empty() || random() % 5 < 3) {
        const std::size_t bytes = random() % 49;
        live.push_back(pool.allocate(bytes));
        std::memset(live.back(), i, bytes);
      } else {
        std::swap(live[random() % live.size()], live.back());
        pool.deallocate(live.back());
        live.pop_back();
      }
    }
    for (void* chunk : live) pool.deallocate(chunk);
    pool.deallocate(nullptr);
  };
  {
    typename TestFixture::plain first;
    typename TestFixture::with_stack second;
    typename TestFixture::filled third;
    busy(first);
    busy(second);
    busy(third);
  }
  EXPECT_EQ(found.kinds(), kinds{});
}

TYPED_TEST(pool_checks_of, double_free) {
  const caught found;
  typename TestFixture::plain pool("doubles");
  void* const first = pool.allocate();
  void* const second = pool.allocate();
  pool.deallocate(first);
  pool.deallocate(second);
  pool.deallocate(first);
  pool.deallocate(first);
  ASSERT_EQ(found.kinds(), (kinds{violation_kind::double_free, violation_kind::double_free}));
  EXPECT_EQ(found.all()[0].pointer, first);
  EXPECT_EQ(found.all()[0].pool, &pool.identity());
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, double_free_of_a_chunk_in_another_page) {
  const caught found;
  typename TestFixture::plain pool;
  std::vector<void*> chunks;
  for (std::size_t i = 0; i < 3 * TestFixture::plain::chunks_per_page; ++i) chunks.push_back(pool.allocate());
  pool.deallocate(chunks[0]);
  pool.deallocate(chunks[0]);
  EXPECT_EQ(found.kinds(), kinds{violation_kind::double_free});
  for (std::size_t i = 1; i < chunks.size(); ++i) pool.deallocate(chunks[i]);
  pool.trim();
  pool.deallocate(chunks[5]);  // its page is gone
  EXPECT_EQ(found.kinds(), (kinds{violation_kind::double_free, violation_kind::never_allocated}));
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, double_free_by_another_thread) {
  if constexpr (std::is_same_v<TypeParam, threading::single>) return;
  const caught found;
  typename TestFixture::plain pool;
  void* const mine = pool.allocate();
  void* const also_mine = pool.allocate();
  std::thread([&] {
    pool.deallocate(mine);
    pool.deallocate(mine);
    pool.deallocate(also_mine);
  }).join();
  pool.deallocate(also_mine);
  EXPECT_EQ(found.kinds(), (kinds{violation_kind::double_free, violation_kind::double_free}));
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, double_free_by_two_threads_at_once) {
  if constexpr (std::is_same_v<TypeParam, threading::single>) return;
  const caught found;
  typename TestFixture::plain pool;
  constexpr std::size_t rounds = 2000;
  std::vector<void*> chunks(rounds);
  for (void*& chunk : chunks) chunk = pool.allocate();
  static std::atomic<int> noticed;
  noticed = 0;
  set_violation_handler([](const violation&) { noticed.fetch_add(1); });
  auto free_all = [&] {
    for (void* chunk : chunks) pool.deallocate(chunk);
  };
  std::thread one(free_all), other(free_all);
  one.join();
  other.join();
  EXPECT_EQ(noticed, static_cast<int>(rounds)) << "each chunk was freed once and refused once";
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, pointers_of_nobody) {
  const caught found;
  typename TestFixture::plain pool("mine");
  void* const chunk = pool.allocate();
  alignas(16) char on_the_stack[64] = {};
  static char global[64];
  auto* const from_the_heap = new char[64];
  kinds expected;
  for (void* const bad : {static_cast<void*>(on_the_stack), static_cast<void*>(global),
                          static_cast<void*>(from_the_heap), reinterpret_cast<void*>(16),
                          reinterpret_cast<void*>(~std::uintptr_t{15}), reinterpret_cast<void*>(0x8000'0000'0000)}) {
    EXPECT_FALSE(pool.owns(bad));
    pool.deallocate(bad);
    expected.push_back(violation_kind::foreign_pointer);
  }
  delete[] from_the_heap;
  EXPECT_EQ(found.kinds(), expected);
  EXPECT_TRUE(pool.owns(chunk));
  pool.deallocate(chunk);
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, pointers_of_another_pool) {
  const caught found;
  typename TestFixture::plain mine("mine");
  typename TestFixture::plain yours("yours");
  void* const chunk = yours.allocate();
  mine.deallocate(chunk);
  ASSERT_EQ(found.kinds(), kinds{violation_kind::other_pool});
  EXPECT_EQ(found.all()[0].pool, &mine.identity());
  EXPECT_EQ(found.all()[0].owner, &yours.identity());
  EXPECT_FALSE(mine.owns(chunk));
  yours.deallocate(chunk);
  EXPECT_EQ(found.all().size(), 1u);
  expect_whole(mine);
  expect_whole(yours);
}

TYPED_TEST(pool_checks_of, pointers_into_the_middle) {
  const caught found;
  typename TestFixture::plain pool;
  auto* const chunk = static_cast<char*>(pool.allocate());
  kinds expected;
  for (const int offset : {1, 8, 16, 47, 48, 56, -1, -8, -16}) {
    pool.deallocate(chunk + offset);
    expected.push_back(violation_kind::middle_pointer);
  }
  ASSERT_EQ(found.kinds(), expected);
  EXPECT_EQ(found.all()[2].chunk, chunk);
  EXPECT_EQ(found.all()[2].pointer, chunk + 16);
  auto* const segment = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(chunk) & ~std::uintptr_t{0x3fffff});
  for (int offset = 0; offset < 8192; offset += 8) pool.deallocate(segment + offset);
  EXPECT_EQ(found.all().size(), expected.size() + 1024) << "where the pool keeps its books is no chunk";
  pool.deallocate(chunk);
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, chunks_never_allocated) {
  const caught found;
  typename TestFixture::plain pool;
  auto* const chunk = static_cast<char*>(pool.allocate());
  pool.deallocate(chunk + 64 * 512);
  EXPECT_EQ(found.kinds(), kinds{violation_kind::never_allocated});
  pool.deallocate(chunk);
  expect_whole(pool);
}

TYPED_TEST(pool_checks_of, overflow) {
  const caught found;
  typename TestFixture::with_stack pool;
  auto* const chunk = static_cast<char*>(pool.allocate());
  auto* const neighbour = static_cast<char*>(pool.allocate());
  chunk[48] = 0;
  pool.deallocate(neighbour);
  EXPECT_EQ(found.kinds(), kinds{});
  pool.deallocate(chunk);
  ASSERT_EQ(found.kinds(), kinds{violation_kind::overflow});
  EXPECT_EQ(found.all()[0].pointer, chunk);
  expect_whole(pool);
  EXPECT_EQ(found.all().size(), 1u);
}

TYPED_TEST(pool_checks_of, overflow_of_a_size_that_is_no_multiple_of_a_word) {
  const caught found;
  pool<21, TypeParam, no_header, no_analyzer, exact_checks, marks> pool;
  auto* const chunk = static_cast<char*>(pool.allocate());
  std::memset(chunk, 0, 21);
  pool.deallocate(chunk);
  EXPECT_EQ(found.kinds(), kinds{});
  auto* const again = static_cast<char*>(pool.allocate());
  again[21] = 0;
  pool.deallocate(again);
  EXPECT_EQ(found.kinds(), kinds{violation_kind::overflow});
}

// The link of a free chunk is longer than these chunks.
template <class Threading, std::size_t Bytes, class Checks>
void expect_overflow_seen() {
  const caught found;
  pool<Bytes, Threading, no_header, no_analyzer, Checks, marks> pool;
  std::vector<char*> chunks(2000);
  for (int round = 0; round < 2; ++round) {
    for (char*& chunk : chunks) {
      chunk = static_cast<char*>(pool.allocate());
      std::memset(chunk, round, Bytes);
    }
    for (char* chunk : chunks) pool.deallocate(chunk);
    pool.chunks_in_use();  // none at hand: they are lists
  }
  EXPECT_EQ(found.kinds(), kinds{});
  auto* const chunk = static_cast<char*>(pool.allocate());
  chunk[Bytes] = 1;
  pool.deallocate(chunk);
  EXPECT_EQ(found.kinds(), kinds{violation_kind::overflow});
  pool.deallocate(chunk);
  EXPECT_EQ(found.kinds(), (kinds{violation_kind::overflow, violation_kind::double_free}));
}

TYPED_TEST(pool_checks_of, overflow_of_a_chunk_that_is_smaller_than_a_word) {
  expect_overflow_seen<TypeParam, 1, exact_checks>();
  expect_overflow_seen<TypeParam, 4, exact_checks>();
  expect_overflow_seen<TypeParam, 4, all_checks>();
  expect_overflow_seen<TypeParam, 7, all_checks>();
  expect_overflow_seen<TypeParam, 8, all_checks>();
}

TYPED_TEST(pool_checks_of, underflow) {
  const caught found;
  {
    typename TestFixture::with_stack pool;
    auto* const chunk = static_cast<char*>(pool.allocate());
    chunk[-1] = 0;
    pool.deallocate(chunk);
    ASSERT_EQ(found.kinds(), kinds{violation_kind::underflow});
    EXPECT_EQ(found.all()[0].pointer, chunk);
    expect_whole(pool);
    EXPECT_EQ(found.all().size(), 1u);
  }
  EXPECT_EQ(found.kinds(), (kinds{violation_kind::underflow, violation_kind::leak})) << "it was left alone";
}

TYPED_TEST(pool_checks_of, leak_when_the_pool_is_destroyed) {
  const caught found;
  std::vector<void*> lost;
  {
    typename TestFixture::with_stack pool("leaky");
    std::vector<void*> chunks;
    for (int i = 0; i < 1000; ++i) chunks.push_back(pool.allocate());
    for (int i = 0; i < 1000; ++i) {
      if (i == 3 || i == 777) {
        lost.push_back(chunks[static_cast<std::size_t>(i)]);
      } else {
        pool.deallocate(chunks[static_cast<std::size_t>(i)]);
      }
    }
  }
  ASSERT_EQ(found.kinds(), (kinds{violation_kind::leak, violation_kind::leak}));
  EXPECT_EQ(found.all()[0].pointer, lost[0]);
  EXPECT_EQ(found.all()[1].pointer, lost[1]);
}

void* called_from;  // the return address of the function that allocated: it must be in the stack

[[gnu::noinline]] void* allocate_from_here(auto& pool) {
  called_from = __builtin_return_address(0);
  void* const chunk = pool.allocate();
  asm volatile("" ::: "memory");
  return chunk;
}

TEST(pool_check_reports, tell_who_allocated) {
  static std::vector<void*> stack;
  const caught found;
  set_violation_handler([](const violation& one) { stack.assign(one.allocated_at.begin(), one.allocated_at.end()); });
  pool<48, threading::single, call_stack<8>, no_analyzer, exact_checks, marks> pool;
  auto allocated_from_there = [] { return std::find(stack.begin(), stack.end(), called_from) != stack.end(); };
  auto* const chunk = static_cast<char*>(allocate_from_here(pool));
  chunk[48] = 1;
  pool.deallocate(chunk);
  EXPECT_TRUE(allocated_from_there());
  stack.clear();
  pool.deallocate(chunk);
  EXPECT_TRUE(allocated_from_there()) << "a double free tells who had the chunk";
}

TEST(pool_check_reports, are_printed_and_end_the_program) {
  using exact = pool<48, threading::single, no_header, no_analyzer, exact_checks, marks>;
  auto twice = [] {
    exact pool("events");
    void* const chunk = pool.allocate();
    pool.deallocate(chunk);
    pool.deallocate(chunk);
  };
  EXPECT_DEATH(twice(), "heapledger: pool 'events' of 48-byte chunks: double free, at 0x");
  auto mixed_up = [] {
    exact mine("mine");
    pool<32, threading::single, no_header, no_analyzer, exact_checks, marks> other("other");
    mine.deallocate(other.allocate());
  };
  EXPECT_DEATH(mixed_up(), "'mine'.*belongs to another pool, at 0x.*, which is of pool 'other' of 32-byte chunks");
  auto middle = [] {
    exact pool;
    pool.deallocate(static_cast<char*>(pool.allocate()) + 16);
  };
  EXPECT_DEATH(middle(), "pool 0x.*no start of a chunk, at 0x.*, 16 bytes into the chunk at 0x");
  auto behind = [] {
    exact pool;
    pool.deallocate(static_cast<char*>(pool.allocate()) + 56);
  };
  EXPECT_DEATH(behind(), "no start of a chunk, at 0x.*, 8 bytes behind the end of the chunk at 0x");
  auto leak = [] {
    { (void)exact("leaky").allocate(); }
    std::exit(7);
  };
  EXPECT_EXIT(leak(), ::testing::ExitedWithCode(7), "'leaky'.*chunk in use when its pool was destroyed, at 0x");
}

TEST(pool_check_reports, name_ten_leaks_of_a_pool_and_say_how_many_there_are) {
  auto leak = [] {
    {
      pool<48, threading::single, no_header, no_analyzer, exact_checks, marks> pool("full");
      for (int i = 0; i < 1000; ++i) (void)pool.allocate();
    }
    std::exit(7);
  };
  EXPECT_EXIT(
      leak(), ::testing::ExitedWithCode(7),
      "^(heapledger: pool 'full' of 48-byte chunks: chunk in use when its pool was destroyed, at 0x[0-9a-f]+\n){10}"
      "heapledger: pool 'full' of 48-byte chunks: 1000 chunks were in use when it was destroyed; no more of them are "
      "named\n$");
}

// A policy of one's own: which checks, and who is told.
struct only_leaks : no_checks {
  static constexpr bool leaks = true;
  static inline int seen = 0;
  static void failed(const violation& found) { seen += found.kind == violation_kind::leak; }
};

TEST(pool_checks_own, can_be_written) {
  {
    pool<16, threading::single, no_header, no_analyzer, only_leaks> pool;
    for (int i = 0; i < 3; ++i) (void)pool.allocate();
  }
  EXPECT_EQ(only_leaks::seen, 3);
}

struct only_position : no_checks {
  static constexpr bool ownership = true;
  static constexpr bool position = true;
};

TEST(pool_checks_own, position_without_marks) {
  const caught found;
  pool<48, threading::single, no_header, no_analyzer, only_position, marks> pool;
  auto* const chunk = static_cast<char*>(pool.allocate());
  for (int offset = 1; offset < 48; ++offset) pool.deallocate(chunk + offset);
  EXPECT_EQ(found.all().size(), 47u);
  pool.deallocate(chunk);
  EXPECT_EQ(found.all().size(), 47u);
}

}  // namespace
}  // namespace heapledger::tests
