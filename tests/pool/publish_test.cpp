// A pool with a profiler in the process: this file plays the profiler.
#include "heapledger/pool/publish.hpp"

#include <map>
#include <string>

#include "support.hpp"

namespace {

heapledger_pool_counters shown{};
std::string shown_name;
std::map<const void*, std::size_t> shown_chunks;
std::uint32_t calls = 0;
int closed = 0;

}  // namespace

extern "C" {
heapledger_pool_counters* heapledger_pool_open(const char* name, std::size_t) {
  if (std::string_view(name) != "shown") return nullptr;
  shown_name = name;
  return &shown;
}
void heapledger_pool_close(heapledger_pool_counters* counters) {
  closed += counters == &shown;
}
std::uint32_t heapledger_pool_allocated(heapledger_pool_counters*, const void* chunk, std::size_t bytes) {
  shown_chunks[chunk] = bytes;
  return ++calls;
}
void heapledger_pool_freed(heapledger_pool_counters*, const void* chunk, std::uint32_t site, std::size_t bytes) {
  EXPECT_EQ(shown_chunks.at(chunk), bytes);
  EXPECT_TRUE(site != 0 && site <= calls);
  shown_chunks.erase(chunk);
}
}

namespace heapledger::tests {
namespace {

TEST(pool_publish, counts_where_the_profiler_says) {
  {
    pool<48, threading::thread_cached, allocation_site, published<>, no_checks> pool("shown");
    std::vector<void*> chunks;
    for (int i = 0; i < 3000; ++i) chunks.push_back(pool.allocate(20));
    for (int i = 0; i < 1000; ++i) {
      pool.deallocate(chunks.back());
      chunks.pop_back();
    }
    EXPECT_EQ(shown_name, "shown");
    EXPECT_EQ(shown.chunk_bytes, 48u);
    EXPECT_EQ(shown.size_bytes, sizeof shown);
    EXPECT_EQ(shown.allocations, 3000u);
    EXPECT_EQ(shown.frees, 1000u);
    EXPECT_EQ(shown.allocated_bytes, 60'000u);
    EXPECT_EQ(shown.sizes[5], 3000u);
    EXPECT_EQ(shown.arenas, 1u);
    EXPECT_EQ(shown.pages, pool.pages());
    EXPECT_EQ(shown.page_bytes, pool.pages() * pool.page_bytes);
    EXPECT_EQ(shown.peak_page_bytes, shown.page_bytes);
    EXPECT_EQ(shown_chunks.size(), 2000u);
    EXPECT_EQ(shown_chunks.at(chunks[0]), 20u);
    EXPECT_EQ(closed, 0);
    pool.reset();
    EXPECT_TRUE(shown_chunks.empty());
  }
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(shown.pages, 0u);
  EXPECT_EQ(shown.arenas, 0u);
}

TEST(pool_publish, counts_for_itself_otherwise) {
  pool<48, threading::single, no_header, published<false>, no_checks> pool;
  pool.analyzer().publish_as("other", pool.chunk_bytes);
  pool.deallocate(pool.allocate());
  EXPECT_EQ(pool.analyzer().counters().allocations, 1u);
  EXPECT_EQ(pool.analyzer().counters().frees, 1u);
  EXPECT_TRUE(shown_chunks.empty());
}

TEST(pool_publish, keeps_no_stacks_without_a_header) {
  shown_chunks.clear();
  pool<48, threading::single, no_header, published<false>, no_checks> pool;
  pool.analyzer().publish_as("shown", pool.chunk_bytes);
  void* const chunk = pool.allocate();
  EXPECT_TRUE(shown_chunks.empty());
  pool.deallocate(chunk);
}

}  // namespace
}  // namespace heapledger::tests
