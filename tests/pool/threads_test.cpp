// Threads that come, end and fork: whose arenas are whose, and that chunks which come back on unusual ways are no
// mistakes.
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "support.hpp"

namespace heapledger::tests {
namespace {

// Objects with thread storage duration may use a pool while their thread ends, before and after it has left its arena.
pool<32, threading::thread_cached, no_header, counting<>, exact_checks> late_pool;
struct late_user {
  void* kept = nullptr;
  ~late_user() {
    late_pool.deallocate(kept);
    for (int i = 0; i < 3; ++i) late_pool.deallocate(late_pool.allocate());
  }
};

TEST(pool_threads, may_use_a_pool_while_they_end) {
  const caught found;
  for (int i = 0; i < 4; ++i) {
    std::thread([] {
      static thread_local late_user user;  // made before the arena, so destroyed after it was left
      user.kept = late_pool.allocate();
    }).join();
  }
  EXPECT_EQ(late_pool.chunks_in_use(), 0u);
  EXPECT_EQ(late_pool.analyzer().arenas_created, 1u);
  EXPECT_EQ(late_pool.analyzer().arenas_stale, late_pool.analyzer().arenas_reused + 1);
  EXPECT_TRUE(found.all().empty());
}

// What is told of arenas may be kept in chunks of another pool.
struct notes_arenas : no_analyzer {
  using notes = pool<64, threading::thread_cached, no_header, no_analyzer, exact_checks>;
  notes* to = nullptr;
  int noted = 0;
  void note() {
    to->deallocate(to->allocate());
    ++noted;
  }
  void arena_created(const void*) { note(); }
  void arena_stale(const void*) { note(); }
  void arena_reused(const void*) { note(); }
  void page_freed(void*, std::size_t) { note(); }
};

TEST(pool_threads, may_note_their_arenas_in_another_pool) {
  const caught found;
  notes_arenas::notes notes;
  {
    pool<48, threading::thread_cached, no_header, notes_arenas, exact_checks> pool;
    pool.analyzer().to = &notes;
    for (int i = 0; i < 3; ++i) {
      std::thread([&] { pool.deallocate(pool.allocate()); }).join();
      pool.trim();
    }
    EXPECT_GE(pool.analyzer().noted, 6);
  }
  EXPECT_EQ(notes.chunks_in_use(), 0u);
  EXPECT_TRUE(found.all().empty());
}

// A thread that has left its arena must not use it any more: it may be another thread's by now.
pool<32, threading::thread_cached, no_header, counting<>, exact_checks> left_pool;
struct meets_successor {
  bool* apart = nullptr;
  ~meets_successor() {
    if (apart == nullptr) return;
    void* theirs = nullptr;
    std::mutex lock;
    std::condition_variable changed;
    bool taken = false, done = false;
    std::thread holder([&] {
      theirs = left_pool.allocate();  // in the arena that this thread has just left
      std::unique_lock hold(lock);
      taken = true;
      changed.notify_all();
      changed.wait(hold, [&] { return done; });
    });
    {
      std::unique_lock hold(lock);
      changed.wait(hold, [&] { return taken; });
    }
    void* const mine = left_pool.allocate();
    using layout = decltype(left_pool)::layout;
    *apart = layout::page_start(mine) != layout::page_start(theirs);
    left_pool.deallocate(mine);
    {
      const std::lock_guard hold(lock);
      done = true;
      changed.notify_all();
    }
    holder.join();
    left_pool.deallocate(theirs);
  }
};

TEST(pool_threads, leave_their_arena_to_the_next) {
  const caught found;
  bool apart = false;
  std::thread([&] {
    static thread_local meets_successor user;  // made before the arena, so destroyed after it was left
    user.apart = &apart;
    left_pool.deallocate(left_pool.allocate());
  }).join();
  EXPECT_TRUE(apart);
  EXPECT_EQ(left_pool.chunks_in_use(), 0u);
  EXPECT_TRUE(found.all().empty());
}

// A pool gets the place of one that is gone in the tables of all threads: theirs is not the other one's arena.
TEST(pool_threads, do_not_take_a_new_pool_for_one_that_is_gone) {
  using pool_type = pool<32, threading::thread_cached, no_header, counting<>, exact_checks>;
  const caught found;
  pool_type* shown = nullptr;
  void* theirs = nullptr;
  std::mutex lock;
  std::condition_variable changed;
  int turn = 0;  // even: ours
  auto wait_for = [&](int wanted) {
    std::unique_lock hold(lock);
    changed.wait(hold, [&] { return turn == wanted; });
  };
  auto next = [&] {
    const std::lock_guard hold(lock);
    ++turn;
    changed.notify_all();
  };
  constexpr int rounds = 50;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      wait_for(2 * i + 1);
      theirs = shown->allocate();
      shown->deallocate(shown->allocate());
      next();
    }
    wait_for(2 * rounds + 1);  // ending is a use of every pool that it has an arena of
  });
  for (int i = 0; i < rounds; ++i) {
    const auto pool = std::make_unique<pool_type>();
    shown = pool.get();
    void* const mine = pool->allocate();
    next();
    wait_for(2 * i + 2);
    EXPECT_TRUE(pool->owns(theirs));
    EXPECT_EQ(pool->analyzer().arenas_created, 2u);
    pool->deallocate(theirs);
    pool->deallocate(mine);
    EXPECT_EQ(pool->chunks_in_use(), 0u);
  }
  next();
  other.join();
  EXPECT_TRUE(found.all().empty());
}

// What a thread that is not in the child had its table on is another one's stack by the time that the pool goes.
TEST(pool_threads, of_a_parent_are_not_looked_for_in_its_child) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer: no new threads after a fork";
#endif
  using pool_type = pool<32, threading::thread_cached, no_header, no_analyzer, exact_checks>;
  auto pool = std::make_unique<pool_type>();
  auto other = std::make_unique<pool_type>();
  void* const ours = pool->allocate();
  void* theirs = nullptr;
  std::mutex lock;
  std::condition_variable changed;
  bool taken = false, done = false;
  std::thread worker([&] {
    theirs = pool->allocate();
    other->deallocate(other->allocate());
    std::unique_lock hold(lock);
    taken = true;
    changed.notify_all();
    changed.wait(hold, [&] { return done; });
  });
  {
    std::unique_lock hold(lock);
    changed.wait(hold, [&] { return taken; });
  }
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] {}).join();
    pool->deallocate(theirs);
    pool->deallocate(ours);
    const bool all_freed = pool->chunks_in_use() == 0;
    pool.reset();
    other.reset();
    pool_type again;
    again.deallocate(again.allocate());
    std::_Exit(all_freed ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  {
    const std::lock_guard hold(lock);
    done = true;
    changed.notify_all();
  }
  worker.join();
  pool->deallocate(ours);
  pool->deallocate(theirs);
}

TEST(pool_threads, outlive_pools_and_pools_outlive_threads) {
  std::thread([] {
    for (int i = 0; i < 200; ++i) {
      pool<32, threading::thread_cached, no_header, no_analyzer, exact_checks> pool;
      pool.deallocate(pool.allocate());
    }
    std::vector<std::unique_ptr<pool<32, threading::thread_cached, no_header, no_analyzer, no_checks>>> many;
    std::vector<void*> chunks;
    for (int i = 0; i < 200; ++i) {  // more than a thread's table has places
      many.push_back(std::make_unique<pool<32, threading::thread_cached, no_header, no_analyzer, no_checks>>());
      chunks.push_back(many.back()->allocate());
    }
    for (std::size_t i = 0; i < many.size(); ++i) {
      EXPECT_TRUE(many[i]->owns(chunks[i]));
      many[i]->deallocate(chunks[i]);
      EXPECT_EQ(many[i]->allocate(), chunks[i]);
    }
  }).join();
}

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
