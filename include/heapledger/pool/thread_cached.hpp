// An arena a thread, no lock and no atomic read-modify-write for a chunk.
//
// A thread keeps what it frees at hand, whoever allocated it, and hands it out again. What it has too many of goes to
// the pages of its arena, or in parcels to the threads whose pages they are. When a thread ends, its arenas are kept,
// stale, and the next new thread takes one over with everything in it.
#pragma once

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <new>

#include "arena.hpp"
#include "links.hpp"
#include "no_lock.hpp"
#include "parcels.hpp"
#include "thread_registry.hpp"

namespace heapledger::pool_detail {

template <class Layout>
class arena_per_thread {
  struct member : arena<Layout>, membership {
    member* next_of_pool = nullptr;
    member* next_stale = nullptr;
    word taker = 0;
    parcel_desk<member> desk;
    // Their own line: other threads write it.
    alignas(64) parcel_inbox inbox;
    std::atomic<link*> remote = nullptr;  // from threads that have no arena, and from all when there is no memory

    void push_remote(link* chunk) {  // release and acquire as in parcel_inbox
      link* head = remote.load(std::memory_order_relaxed);
      do {
        links<Layout>::set_next(chunk, head);
      } while (!remote.compare_exchange_weak(head, chunk, std::memory_order_release, std::memory_order_relaxed));
    }
    // What others have sent. `give` is told of each chunk.
    template <class Give>
    void collect(parcel_depot& depot, Give&& give) {
      for (parcel* one = inbox.take_all(); one != nullptr;) {
        for (std::uint64_t i = 0; i < one->count; ++i) give(one->chunks[i]);
        parcel* const empty = one;
        one = one->next;
        desk.spare().push(empty);
      }
      depot.take_surplus(desk.spare(), parcel_depot::at_once);
      if (remote.load(std::memory_order_relaxed) == nullptr) return;
      link* chunk = remote.exchange(nullptr, std::memory_order_acquire);
      while (chunk != nullptr) {
        link* const following = links<Layout>::next(chunk);
        give(chunk);
        chunk = following;
      }
    }
  };

 public:
  arena_per_thread(const arena_per_thread&) = delete;
  arena_per_thread& operator=(const arena_per_thread&) = delete;
  constexpr arena_per_thread() = default;
  ~arena_per_thread() {
    while (all_ != nullptr) {
      member* const gone = all_;
      all_ = gone->next_of_pool;
      delete gone;
    }
  }

  // Acquire: another thread may have given the slot to this pool just now, and before that taken the arena of a pool
  // that is gone out of it, in all threads. Partner: the release in find().
  HEAPLEDGER_POOL_HOT member* here() {
    void* const mine = arenas_of_thread[slot_.load(std::memory_order_acquire)];
    if (mine != nullptr) [[likely]]
      return static_cast<member*>(mine);
    return find();
  }
  HEAPLEDGER_POOL_HOT static word taker(const member* mine) { return mine->taker; }
  word takers() const { return takers_.load(std::memory_order_relaxed); }
  template <class Pool>
  HEAPLEDGER_POOL_HOT void give(link* chunk, member* mine, Pool& pool) {
    if (!mine->push(chunk)) [[unlikely]]
      make_room_for(chunk, mine, pool);
  }

  // When nothing is at hand.
  template <class Pool>
  HEAPLEDGER_POOL_COLD taken refill(Pool& pool) {
    member* mine = here();
    if (mine == &nobody) mine = join(pool);
    if (mine != nullptr) return {next_of(mine, pool), mine->taker};
    if (!thread_has_ended) return {};
    // A destructor of another thread-local object: an arena is lent for this once.
    const std::lock_guard hold(registry_lock);
    mine = obtain(pool);
    if (mine == nullptr) return {};
    link* const chunk = next_of(mine, pool);
    pool.analyzer().arena_stale(static_cast<arena<Layout>*>(mine));
    make_stale(mine);
    return {chunk, mine->taker};
  }

  // This thread's arena, and those that belong to no thread.
  template <class Pool>
  void trim(Pool& pool) {
    member* const mine = here();
    if (mine != &nobody) {
      put_away(mine, pool);
      mine->trim(pool);
    }
    const std::lock_guard hold(registry_lock);
    for (member* one = stale_; one != nullptr; one = one->next_stale) {
      put_away(one, pool);
      one->trim(pool);
    }
  }

  // Both when no other thread uses the pool.
  template <class Pool>
  void settle(Pool& pool) {
    for (member* one = all_; one != nullptr; one = one->next_of_pool) put_away(one, pool);
    // What went to members that came earlier in the list.
    for (member* one = all_; one != nullptr; one = one->next_of_pool) put_away(one, pool);
  }
  template <class F>
  void for_each_arena(F&& call) {
    for (member* one = all_; one != nullptr; one = one->next_of_pool) call(static_cast<arena<Layout>&>(*one));
  }
  // Before the pool goes: no thread that ends may look for it.
  void leave_threads() {
    const std::lock_guard hold(registry_lock);
    for (member* one = all_; one != nullptr; one = one->next_of_pool) {
      if (one->thread == nullptr) continue;
      one->thread->remove(one);
      one->thread->arenas[slot_.load(std::memory_order_relaxed)] = nullptr;
    }
    give_back_slot(slot_.exchange(no_slot, std::memory_order_relaxed));
  }

 private:
  // The arena of a thread that has none: nothing to take, and no page is its own.
  static inline constinit member nobody{};

  HEAPLEDGER_POOL_COLD member* find() {
    if (thread_has_ended) return &nobody;
    thread_arenas& of_thread = thread_arenas::mine();
    const auto& recent =
        of_thread.without_slot[number_.load(std::memory_order_relaxed) % std::size(of_thread.without_slot)];
    if (recent.pool_number != no_number && recent.pool_number == number_.load(std::memory_order_relaxed)) {
      return static_cast<member*>(recent.arena);
    }
    const std::lock_guard hold(registry_lock);
    if (number_.load(std::memory_order_relaxed) == no_number) {
      number_.store(++last_pool_number, std::memory_order_relaxed);
      slot_.store(take_slot(), std::memory_order_release);
    }
    auto* const found = static_cast<member*>(of_thread.find(number_.load(std::memory_order_relaxed)));
    if (found == nullptr) return &nobody;
    remember(found);
    return found;
  }
  void remember(member* mine) {
    const std::uint64_t number = number_.load(std::memory_order_relaxed);
    if (const std::size_t slot = slot_.load(std::memory_order_relaxed); slot != no_slot) {
      arenas_of_thread[slot] = mine;
    } else {
      auto& recent = thread_arenas::mine().without_slot;
      recent[number % std::size(recent)] = {number, mine};
    }
  }

  // To the page it is of: of this thread's arena, or of another one, which gets it in a parcel.
  template <class Pool>
  void give_to_owner(link* chunk, member* mine, Pool& pool) {
    auto* const owner = static_cast<member*>(static_cast<arena<Layout>*>(page_of<Layout>::owner_of_chunk(chunk)));
    if (owner == mine) {
      mine->give(chunk, pool);
    } else if (!mine->desk.add(chunk, owner, depot_)) {
      owner->push_remote(chunk);
    }
  }
  template <class Pool>
  HEAPLEDGER_POOL_COLD void make_room_for(link* one, member* mine, Pool& pool) {
    if (mine == &nobody) mine = join(pool);
    if (mine == nullptr) {  // no memory, or the thread has left its arenas
      auto* const owner = static_cast<member*>(static_cast<arena<Layout>*>(page_of<Layout>::owner_of_chunk(one)));
      return owner->push_remote(one);
    }
    mine->make_room_for(one, [&](link* chunk) { give_to_owner(chunk, mine, pool); });
  }
  // Everything at hand, on the way or in the inbox of this arena goes to its page.
  template <class Pool>
  void put_away(member* one, Pool& pool) {
    one->empty_hand([&](link* chunk) { give_to_owner(chunk, one, pool); });
    one->desk.send_all();
    one->collect(depot_, [&](link* chunk) { one->give(chunk, pool); });
  }

  template <class Pool>
  link* next_of(member* one, Pool& pool) {
    link* chunk = one->pop();
    if (chunk == nullptr) {
      one->desk.send_all();
      one->collect(depot_, [&](link* back) {
        if (!one->push(back)) one->give(back, pool);
      });
      chunk = one->pop();
    }
    return chunk != nullptr ? chunk : one->refill(pool);
  }

  // An arena for this thread; null when there is no memory, or the thread has left its arenas already.
  template <class Pool>
  HEAPLEDGER_POOL_COLD member* join(Pool& pool) {
    if (thread_has_ended) return nullptr;
    thread_arenas::keep_library();
    const std::lock_guard hold(registry_lock);
    member* const mine = obtain(pool);
    if (mine == nullptr) return nullptr;
    mine->leave = [](membership* left) {
      auto& of = *static_cast<Pool*>(left->pool_state);
      auto* const arena_left = static_cast<member*>(left);
      of.threads().put_away(arena_left, of);
      of.threads().depot_.take_surplus(arena_left->desk.spare(), 0);
      arena_left->trim(of);
      of.analyzer().arena_stale(static_cast<arena<Layout>*>(arena_left));
      of.threads().make_stale(arena_left);
    };
    thread_arenas::mine().add(mine);
    remember(mine);
    return mine;
  }
  template <class Pool>
  member* obtain(Pool& pool) {
    if (stale_ != nullptr) {
      member* const one = stale_;
      stale_ = one->next_stale;
      pool.analyzer().arena_reused(static_cast<arena<Layout>*>(one));
      return one;
    }
    auto* const one = new (std::nothrow) member;
    if (one == nullptr) return nullptr;
    one->pool_number = number_.load(std::memory_order_relaxed);
    one->pool_state = &pool;
    const word takers = std::min(takers_.load(std::memory_order_relaxed) + 1, most_takers);
    takers_.store(takers, std::memory_order_relaxed);
    one->taker = takers * first_taker;
    if (all_ == nullptr) pool.analyzer().opened(pool.identity());
    one->next_of_pool = all_;
    all_ = one;
    pool.analyzer().arena_created(static_cast<arena<Layout>*>(one));
    return one;
  }
  void make_stale(member* one) {
    one->next_stale = stale_;
    stale_ = one;
  }

  std::atomic<std::size_t> slot_ = no_slot;
  std::atomic<std::uint64_t> number_ = no_number;
  std::atomic<word> takers_ = 0;
  parcel_depot depot_;
  member* all_ = nullptr;
  member* stale_ = nullptr;
};

}  // namespace heapledger::pool_detail

namespace heapledger::threading {

struct thread_cached {
  static constexpr bool concurrent = true;
  using lock_type = pool_detail::no_lock<struct chunks>;
  using page_lock_type = std::mutex;
  template <class Layout>
  using state = pool_detail::arena_per_thread<Layout>;
};

}  // namespace heapledger::threading
