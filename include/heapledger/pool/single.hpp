// One thread at a time: an arena in the pool, nothing else.
#pragma once

#include "arena.hpp"
#include "no_lock.hpp"

namespace heapledger::pool_detail {

// Also what `shared` does while it holds its lock.
template <class Layout>
class one_arena {
 public:
  HEAPLEDGER_POOL_HOT arena<Layout>* here() { return &arena_; }
  static constexpr word taker(const arena<Layout>*) { return 0; }
  static constexpr word takers() { return 0; }
  // When nothing is at hand.
  template <class Pool>
  HEAPLEDGER_POOL_COLD taken refill(Pool& pool) {
    if (!created_) {
      created_ = true;
      pool.analyzer().opened(pool.identity());
      pool.analyzer().arena_created(&arena_);
    }
    return {arena_.refill(pool), 0};
  }
  template <class Pool>
  HEAPLEDGER_POOL_HOT void give(link* chunk, arena<Layout>* to, Pool& pool) {
    if (!to->push(chunk)) [[unlikely]]
      make_room_for(chunk, pool);
  }

  template <class Pool>
  void trim(Pool& pool) {
    settle(pool);
    arena_.trim(pool);
  }
  template <class Pool>
  void settle(Pool& pool) {
    arena_.empty_hand([&](link* chunk) { arena_.give(chunk, pool); });
  }
  template <class F>
  void for_each_arena(F&& call) {
    if (created_) call(arena_);
  }

 private:
  template <class Pool>
  HEAPLEDGER_POOL_COLD void make_room_for(link* one, Pool& pool) {
    arena_.make_room_for(one, [&](link* chunk) { arena_.give(chunk, pool); });
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
