// Checks where threads meet: chunks that come back on unusual ways are no mistakes.
#include <thread>

#include "support.hpp"

namespace heapledger::tests {
namespace {

pool<48, threading::thread_cached, no_header, no_analyzer, all_checks> filled_pool;

struct frees_late {
  void* kept = nullptr;
  ~frees_late() { filled_pool.deallocate(kept); }
};

// It goes back in a list through the chunks themselves, which is written over the pattern.
TEST(pool_fill, holds_for_chunks_that_threads_free_after_they_left) {
  const caught found;
  void* const one = filled_pool.allocate();
  std::thread([&] {
    static thread_local frees_late user;  // made before the arena, so destroyed after it was left
    user.kept = one;
    filled_pool.deallocate(filled_pool.allocate());
  }).join();
  std::vector<void*> chunks(2000);
  for (void*& chunk : chunks) chunk = filled_pool.allocate();
  for (void* chunk : chunks) filled_pool.deallocate(chunk);
  EXPECT_EQ(filled_pool.chunks_in_use(), 0u);
  EXPECT_EQ(found.kinds(), std::vector<violation_kind>{});
}

}  // namespace
}  // namespace heapledger::tests
