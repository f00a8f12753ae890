// Where free chunks are filled, a write into one is found wherever the pool keeps it, is told of that chunk, and does
// the pool no harm: no chunk is lost, and none is handed out twice.
#include <sys/mman.h>

#include <cstring>
#include <set>
#include <thread>

#include "heapledger/pool/headers.hpp"
#include "support.hpp"

namespace heapledger::tests {
namespace {

using kinds = std::vector<violation_kind>;

struct only_fill : no_checks {
  static constexpr bool fill = true;
};

template <class Threading, class Header = no_header, class Checks = all_checks, pool_options Options = marks>
using filled = pool<48, Threading, Header, no_analyzer, Checks, Options>;

template <class Pool>
std::vector<char*> take(Pool& pool, std::size_t count) {
  std::vector<char*> result(count);
  for (char*& chunk : result) {
    chunk = static_cast<char*>(pool.allocate());
    std::memset(chunk, 1, 48);
  }
  return result;
}
template <class Pool>
void give(Pool& pool, const std::vector<char*>& chunks, std::size_t from = 0) {
  for (std::size_t i = from; i < chunks.size(); ++i) pool.deallocate(chunks[i]);
}

// One report, of this chunk.
void expect_only(const caught& found, const void* chunk) {
  ASSERT_EQ(found.kinds(), kinds{violation_kind::written_after_free});
  EXPECT_EQ(found.all()[0].pointer, chunk);
}

template <class Threading>
class pool_free_chunks : public ::testing::Test {};
TYPED_TEST_SUITE(pool_free_chunks, every_threading, threading_names);

TYPED_TEST(pool_free_chunks, hold_a_pattern) {
  const caught found;
  filled<TypeParam> pool;
  auto* const chunk = static_cast<unsigned char*>(pool.allocate());
  EXPECT_EQ(chunk[20], 0xDD);
  pool.deallocate(chunk);
  EXPECT_EQ(chunk[20], 0xDD);
  chunk[20] = 0;
  EXPECT_EQ(pool.allocate(), chunk);
  expect_only(found, chunk);
  pool.deallocate(chunk);
  give(pool, take(pool, 3000));
  EXPECT_EQ(found.all().size(), 1u);
}

// What a link would be: null, a chunk in use, a free one, nothing of the pool's.
template <class Pool>
void write_where_a_link_would_be() {
  enum { null, in_use, other_free, odd, nowhere };
  for (const int what : {null, in_use, other_free, odd, nowhere}) {
    const caught found;
    {
      Pool pool;
      const std::vector<char*> chunks = take(pool, 1200);
      for (std::size_t i = 0; i < 1000; ++i) pool.deallocate(chunks[i]);
      pool.chunks_in_use();  // none at hand: they are lists
      const std::uintptr_t words[] = {0, reinterpret_cast<std::uintptr_t>(chunks[1010]),
                                      reinterpret_cast<std::uintptr_t>(chunks[500]),
                                      reinterpret_cast<std::uintptr_t>(chunks[500]) + 1, 0x4141'4141};
      std::memcpy(chunks[100], &words[what], sizeof(void*));
      std::set<char*> live(chunks.begin() + 1000, chunks.end());
      for (char* chunk : take(pool, 3000)) EXPECT_TRUE(live.insert(chunk).second) << "handed out, and in use";
      expect_only(found, chunks[100]);
      EXPECT_EQ(pool.chunks_in_use(), live.size());
      for (char* chunk : live) pool.deallocate(chunk);
      EXPECT_EQ(pool.chunks_in_use(), 0u);
    }
    EXPECT_EQ(found.all().size(), 1u) << "no leak";
  }
}

TYPED_TEST(pool_free_chunks, are_no_lists_that_the_program_can_change) {
  write_where_a_link_would_be<filled<TypeParam>>();
  write_where_a_link_would_be<filled<TypeParam, no_header, only_fill>>();
  write_where_a_link_would_be<filled<TypeParam, birth_time>>();
  constexpr pool_options beside{.header = header_place::beside, .tool = memory_tool::none};
  write_where_a_link_would_be<filled<TypeParam, std::uint32_t, all_checks, beside>>();
}

TYPED_TEST(pool_free_chunks, can_be_walked_over_whatever_is_in_them) {
  const caught found;
  filled<TypeParam> pool;
  const std::vector<char*> chunks = take(pool, 2000);
  for (std::size_t i = 0; i < 2000; ++i) {
    if (i != 500) pool.deallocate(chunks[i]);
  }
  pool.chunks_in_use();
  std::memset(chunks[100], 0x41, 8);
  std::vector<void*> in_use;
  pool.for_each_in_use([&](void* chunk) { in_use.push_back(chunk); });
  EXPECT_EQ(in_use, std::vector<void*>{chunks[500]});
  pool.reset();
  EXPECT_EQ(found.kinds(), kinds{});
  give(pool, take(pool, 2000));
  expect_only(found, chunks[100]);
}

TYPED_TEST(pool_free_chunks, are_looked_at_when_the_pool_is_destroyed) {
  for (const bool at_hand : {false, true}) {
    const caught found;
    char* written = nullptr;
    {
      filled<TypeParam> pool;
      const std::vector<char*> chunks = take(pool, 2000);
      give(pool, chunks, 1);
      if (!at_hand) pool.chunks_in_use();
      written = chunks[1999];
      written[47] = 0;
      pool.deallocate(chunks[0]);
    }
    expect_only(found, written);
  }
}

TYPED_TEST(pool_free_chunks, are_looked_at_when_their_page_ran_empty) {
  const caught found;
  filled<TypeParam> pool;
  const std::vector<char*> chunks = take(pool, 3000);
  give(pool, chunks);
  pool.chunks_in_use();
  for (std::size_t i = 10; i < 1000; ++i) chunks[i][20] = 1;
  take(pool, 6000);
  EXPECT_EQ(found.kinds(), kinds(990, violation_kind::written_after_free));
  pool.reset();
}

TYPED_TEST(pool_free_chunks, are_looked_at_when_their_page_goes_back) {
  const caught found;
  filled<TypeParam> pool;
  const std::vector<char*> chunks = take(pool, 3000);
  give(pool, chunks);
  pool.chunks_in_use();
  chunks[700][3] = 1;
  pool.trim();
  EXPECT_EQ(pool.pages(), 0u);
  expect_only(found, chunks[700]);
  chunks[700][3] = 1;  // and once more, now that it is gone
  give(pool, take(pool, 3000));
  EXPECT_EQ(found.kinds(), kinds(2, violation_kind::written_after_free));
  EXPECT_EQ(found.all()[1].pointer, chunks[700]);
}

// Locked memory stays with the process.
TYPED_TEST(pool_free_chunks, are_whole_when_their_page_could_not_go_back) {
  const caught found;
  filled<TypeParam> pool;
  const std::vector<char*> chunks = take(pool, 500);
  char* const page = filled<TypeParam>::layout::page_start(chunks[0]);
  if (::mlock(page, pool.page_bytes) != 0) GTEST_SKIP() << "no memory may be locked here";
  give(pool, chunks);
  pool.trim();
  EXPECT_EQ(pool.pages(), 0u);
  give(pool, take(pool, 800));
  ::munlock(page, pool.page_bytes);
  EXPECT_EQ(found.kinds(), kinds{});
}

TYPED_TEST(pool_free_chunks, are_whole_when_nobody_writes) {
  const caught found;
  {
    filled<TypeParam> pool;
    for (int round = 0; round < 4; ++round) {
      const std::vector<char*> chunks = take(pool, 5000);
      if (round == 1) {
        pool.reset();
        continue;
      }
      give(pool, chunks);
      if (round == 2) pool.trim();
    }
  }
  EXPECT_EQ(found.kinds(), kinds{});
}

// Frees when the arenas of its thread are gone.
struct frees_late {
  filled<threading::thread_cached>* pool = nullptr;
  void* chunk = nullptr;
  ~frees_late() {
    if (pool != nullptr) pool->deallocate(chunk);
  }
};

TEST(pool_free_chunks_of_threads, that_a_thread_without_an_arena_sent_back) {
  const caught found;
  filled<threading::thread_cached> pool;
  const std::vector<char*> chunks = take(pool, 1);
  std::thread([&] {
    static thread_local frees_late late;  // destroyed after the thread's arenas, which come later
    late.pool = &pool;
    late.chunk = chunks[0];
    pool.deallocate(pool.allocate());
  }).join();
  std::memset(chunks[0], 0x41, 8);
  give(pool, take(pool, 3000));
  expect_only(found, chunks[0]);
}

}  // namespace
}  // namespace heapledger::tests
