// A pool with a profiler in the process: this file plays the profiler.
#include "heapledger/pool/publish.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "support.hpp"

namespace {

heapledger_pool_counters shown{};
std::string shown_name;
std::map<const void*, std::size_t> shown_chunks;
std::uint32_t calls = 0;
int closed = 0;

// Every so many chunks get a place of the profiler's; 0: none does.
std::uint32_t moves_each = 0;
std::map<const void*, std::pair<void*, std::unique_ptr<char[]>>> places;  // to the chunk that waits, and the memory

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
void* heapledger_pool_watched(heapledger_pool_counters*, void* chunk, std::uint32_t site, std::size_t,
                              std::size_t capacity, std::size_t) {
  if (moves_each == 0 || site % moves_each != 0) return nullptr;
  auto memory = std::make_unique<char[]>(capacity);
  char* const place = memory.get();
  places.emplace(place, std::pair(chunk, std::move(memory)));
  return place;
}
void* heapledger_pool_chunk(void* given) {
  const auto found = places.find(given);
  return found == places.end() ? given : found->second.first;
}
void heapledger_pool_unwatched(void* place) {
  EXPECT_EQ(places.erase(place), 1u);
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

template <class Threading, class Checks, pool_options Options = pool_options{}>
void use_with_moved_chunks() {
  moves_each = 3;
  shown_chunks.clear();
  {
    pool<40, Threading, allocation_site, published<>, Checks, Options> pool("shown");
    std::vector<void*> chunks;
    for (int i = 0; i < 900; ++i) {
      chunks.push_back(pool.allocate(static_cast<std::size_t>(1 + i % 40)));
      std::memset(chunks.back(), i, static_cast<std::size_t>(1 + i % 40));
    }
    const std::size_t moved = Options.tool == memory_tool::none ? places.size() : 300;
    EXPECT_EQ(moved, 300u);
    for (int i = 0; i < 900; ++i) {
      EXPECT_TRUE(pool.owns(chunks[static_cast<std::size_t>(i)]));
      EXPECT_EQ(pool.header(chunks[static_cast<std::size_t>(i)])->bytes, static_cast<unsigned>(1 + i % 40));
      EXPECT_EQ(static_cast<unsigned char*>(chunks[static_cast<std::size_t>(i)])[i % 40], i % 256);
    }
    std::map<void*, int> seen;
    pool.for_each_in_use([&](void* chunk) { ++seen[chunk]; });
    EXPECT_EQ(seen.size(), 900u);
    for (void* const chunk : chunks) EXPECT_EQ(seen[chunk], 1);
    for (int i = 0; i < 300; ++i) {
      pool.deallocate(chunks.back());
      chunks.pop_back();
    }
    EXPECT_EQ(places.size(), moved == 300 && Options.tool == memory_tool::none ? 200u : 0u);
    EXPECT_EQ(pool.chunks_in_use(), 600u);
    pool.deallocate(nullptr);
    pool.reset();
    EXPECT_TRUE(places.empty());
    EXPECT_TRUE(shown_chunks.empty());
    for (int i = 0; i < 30; ++i) pool.allocate();
  }
  EXPECT_TRUE(places.empty()) << "what is in use when the pool ends";
  moves_each = 0;
}

TEST(pool_publish, a_chunk_may_live_elsewhere) {
  use_with_moved_chunks<threading::thread_cached, no_checks>();
  use_with_moved_chunks<threading::single, no_checks>();
  use_with_moved_chunks<threading::shared, no_checks>();
  use_with_moved_chunks<threading::thread_cached, no_checks, pool_options{.header = header_place::beside}>();
}

struct quiet_checks : all_checks {
  static inline int failures = 0;
  static void failed(const violation& what) noexcept { failures += what.kind != violation_kind::leak; }
};

TEST(pool_publish, checks_hold_for_a_chunk_that_lives_elsewhere) {
  use_with_moved_chunks<threading::thread_cached, quiet_checks>();
  EXPECT_EQ(quiet_checks::failures, 0);
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
