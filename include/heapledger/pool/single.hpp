// One thread at a time: an arena in the pool, nothing else.
#pragma once

#include "arena.hpp"
#include "no_lock.hpp"

namespace heapledger::pool_detail {

// Also what `shared` does while it holds its lock.
template <class Layout>
class one_arena {
 public:
  template <class Pool>
  HEAPLEDGER_POOL_HOT link* take(Pool& pool) {
    link* const chunk = arena_.pop();
    return chunk != nullptr ? chunk : first_or_refill(pool);
  }
  HEAPLEDGER_POOL_HOT place<arena<Layout>> locate(const void* chunk) { return {&arena_, arena_.current_holds(chunk)}; }
  HEAPLEDGER_POOL_HOT static constexpr bool frees_alone(const void*, place<arena<Layout>>) { return true; }
  template <class Pool>
  HEAPLEDGER_POOL_HOT void give(link* chunk, place<arena<Layout>> to, Pool& pool) {
    if (to.is_current) {
      arena_.push_to_current(chunk);
    } else {
      arena_.push(page_of<Layout>::chunk(chunk), chunk, pool);
    }
  }

  template <class Pool>
  void trim(Pool& pool) {
    arena_.trim(pool);
  }
  template <class Pool>
  void settle(Pool&) {}
  template <class F>
  void for_each_arena(F&& call) {
    if (created_) call(arena_);
  }

 private:
  template <class Pool>
  HEAPLEDGER_POOL_COLD link* first_or_refill(Pool& pool) {
    if (!created_) {
      created_ = true;
      pool.analyzer().opened(pool.identity());
      pool.analyzer().arena_created(&arena_);
    }
    return arena_.refill(pool);
  }

  arena<Layout> arena_;
  bool created_ = false;
};

}  // namespace heapledger::pool_detail

namespace heapledger::threading {

struct single {
  static constexpr bool concurrent = false;                   // do events happen at the same time?
  using lock_type = pool_detail::no_lock<struct chunks>;      // around allocate and free
  using page_lock_type = pool_detail::no_lock<struct pages>;  // around the pool's pages
  template <class Layout>
  using state = pool_detail::one_arena<Layout>;
};

}  // namespace heapledger::threading
