// Gaps between runs of chunks: the beginnings of chunks fall into all sets of the first-level cache, at the cost of one
// chunk of a hundred at most, and which pointer is a chunk's is as exact as without.
#include <cstdint>
#include <set>

#include "support.hpp"

namespace heapledger::tests {
namespace {

inline constexpr pool_options beside{.header = header_place::beside, .tool = memory_tool::none};

template <std::size_t Bytes, class Checks = no_checks, class Header = no_header, pool_options Options = marks>
using pool_of = pool<Bytes, threading::single, Header, no_analyzer, Checks, Options>;

template <class Pool>
class pool_gaps : public ::testing::Test {};
using layouts = ::testing::Types<
    // With gaps: as they come, with marks, with headers beside and in front, in larger pages, of a stride that is no
    // power of two,
    pool_of<256>, pool_of<512>, pool_of<496, exact_checks>, pool_of<240, all_checks>,
    pool_of<512, no_checks, birth_time, beside>, pool_of<504, no_checks, birth_time>,
    pool_of<2048, no_checks, no_header, pool_options{.page_bytes = 1 << 20, .tool = memory_tool::none}>, pool_of<768>,
    pool_of<512, no_checks, no_header, pool_options{.alignment = 64, .tool = memory_tool::none}>,
    // and without.
    pool_of<48>, pool_of<528>, pool_of<1024>, pool_of<8192>, pool_of<256, exact_checks>,
    pool_of<512, no_checks, no_header, pool_options{.alignment = 512, .tool = memory_tool::none}>>;
TYPED_TEST_SUITE(pool_gaps, layouts);

TYPED_TEST(pool_gaps, leave_every_chunk_findable_and_nothing_else) {
  using layout = typename TypeParam::layout;
  alignas(4096) static char here[1];  // an address, never read: a page's, if it is taken for one
  char* const page = layout::page_start(here);
  std::set<std::size_t> starts;
  for (std::size_t index = 0; index < layout::capacity; ++index) {
    auto* const chunk = reinterpret_cast<char*>(layout::chunk_at(page, index));
    const auto at = static_cast<std::size_t>(chunk - page);
    if (!starts.empty()) {
      ASSERT_GE(at, *starts.rbegin() + layout::stride);
    }
    starts.insert(at);
    ASSERT_EQ(at % layout::alignment, 0u);
    ASSERT_EQ(layout::index_of(chunk), index);
    ASSERT_EQ(layout::index_around(at), index);
    ASSERT_EQ(layout::index_around(at + layout::stride - 1), index);
  }
  ASSERT_GE(*starts.begin(), layout::before_bytes);
  ASSERT_LE(*starts.rbegin() + layout::payload_bytes + layout::after_bytes, layout::page_bytes);
  for (std::size_t at = 0; at < layout::page_bytes; ++at) {
    ASSERT_EQ(layout::index_of(page + at) < layout::capacity, starts.contains(at)) << at;
  }
}

TYPED_TEST(pool_gaps, take_one_chunk_of_a_hundred_at_most) {
  using layout = typename TypeParam::layout;
  EXPECT_GE(layout::capacity * 100, layout::chunks_without_gaps * 99);
  if constexpr (!layout::has_gaps) {
    EXPECT_EQ(std::size_t{layout::capacity}, layout::chunks_without_gaps);
  }
}

TYPED_TEST(pool_gaps, let_chunks_begin_in_every_set_of_the_cache) {
  using layout = typename TypeParam::layout;
  if constexpr (layout::has_gaps) {
    constexpr std::size_t sets = 64, line_bytes = 64;
    std::size_t in_set[sets]{};
    for (std::size_t index = 0; index < layout::capacity; ++index) {
      ++in_set[reinterpret_cast<std::uintptr_t>(layout::chunk_at(nullptr, index)) / line_bytes % sets];
    }
    for (const std::size_t count : in_set) {
      EXPECT_GE(count, layout::capacity / sets / 2);
      EXPECT_LE(count, layout::capacity / sets + 2);
    }
  }
}

TEST(pool_gaps_checks, a_pointer_into_a_gap_is_no_chunk) {
  using pool_type = pool_of<496, exact_checks>;
  using layout = pool_type::layout;
  static_assert(layout::has_gaps);
  const caught found;
  pool_type pool;
  std::vector<char*> chunks;
  for (std::size_t i = 0; i < 2 * layout::capacity; ++i) chunks.push_back(static_cast<char*>(pool.allocate()));
  char* const last_of_run =
      reinterpret_cast<char*>(layout::chunk_at(layout::page_start(chunks[0]), layout::in_run - 1));
  char* const next = reinterpret_cast<char*>(layout::chunk_at(layout::page_start(chunks[0]), layout::in_run));
  ASSERT_GT(next, last_of_run + layout::stride);
  pool.deallocate(last_of_run + layout::stride);
  ASSERT_EQ(found.kinds(), std::vector{violation_kind::middle_pointer});
  EXPECT_EQ(found.all()[0].chunk, last_of_run);
  std::size_t seen = 0;
  pool.for_each_in_use([&](void*) { ++seen; });
  EXPECT_EQ(seen, chunks.size());
  for (char* chunk : chunks) pool.deallocate(chunk);
  EXPECT_EQ(found.all().size(), 1u);
  EXPECT_EQ(pool.chunks_in_use(), 0u);
}

}  // namespace
}  // namespace heapledger::tests
