// An arena a thread, no lock and no atomic read-modify-write on what a thread frees itself.
//
// A chunk of another thread's arena is pushed on that arena's list of remote frees, which the owner takes whole when
// its own list is empty. When a thread ends, its arenas are kept, stale, and the next new thread takes one over with
// everything in it.
#pragma once

#include <atomic>
#include <mutex>
#include <new>

#include "arena.hpp"
#include "no_lock.hpp"
#include "parcels.hpp"
#include "thread_registry.hpp"

namespace heapledger::pool_detail {

template <class Layout>
class arena_per_thread {
  struct member : arena<Layout>, membership {
    member* next_of_pool = nullptr;
    member* next_stale = nullptr;
    parcel_desk<member> desk;
    // Their own line: other threads write it.
    alignas(64) parcel_inbox inbox;
    std::atomic<link*> remote = nullptr;  // from threads that have no arena, and from all when there is no memory

    void push_remote(link* chunk) {  // release and acquire as in parcel_inbox
      link* head = remote.load(std::memory_order_relaxed);
      do {
        Layout::tool_type::set_next(chunk, head);
      } while (!remote.compare_exchange_weak(head, chunk, std::memory_order_release, std::memory_order_relaxed));
    }
    template <class Pool>
    void collect(Pool& pool, parcel_depot& depot) {
      for (parcel* one = inbox.take_all(); one != nullptr;) {
        for (std::uint64_t i = 0; i < one->count; ++i) this->give(one->chunks[i], pool);
        parcel* const empty = one;
        one = one->next;
        desk.spare().push(empty);
      }
      depot.take_surplus(desk.spare(), parcel_depot::at_once);
      if (remote.load(std::memory_order_relaxed) == nullptr) return;
      link* chunk = remote.exchange(nullptr, std::memory_order_acquire);
      while (chunk != nullptr) {
        link* const following = Layout::tool_type::next(chunk);
        this->give(chunk, pool);
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

  template <class Pool>
  HEAPLEDGER_POOL_HOT link* take(Pool& pool) {
    link* const chunk = here()->pop();
    return chunk != nullptr ? chunk : refill(pool);
  }
  HEAPLEDGER_POOL_HOT place<member> locate(const void* chunk) {
    member* const mine = here();
    return {mine, mine->current_holds(chunk)};
  }
  HEAPLEDGER_POOL_HOT static bool frees_alone(const void* chunk, place<member> from) {
    return from.is_current || page_of<Layout>::owner_of_chunk(chunk) == static_cast<arena<Layout>*>(from.mine);
  }
  template <class Pool>
  HEAPLEDGER_POOL_HOT void give(link* chunk, place<member> to, Pool& pool) {
    if (to.is_current) {
      to.mine->push_to_current(chunk);
      return;
    }
    auto* const owner = static_cast<arena<Layout>*>(page_of<Layout>::owner_of_chunk(chunk));
    if (owner == to.mine) {
      to.mine->push(page_of<Layout>::chunk(chunk), chunk, pool);
    } else {
      give_to_other(chunk, to.mine, static_cast<member*>(owner), pool);
    }
  }

  // This thread's arena, and those that belong to no thread.
  template <class Pool>
  void trim(Pool& pool) {
    member* const mine = here();
    if (mine != &nobody) {
      mine->desk.send_all();
      mine->collect(pool, depot_);
      mine->trim(pool);
    }
    const std::lock_guard hold(registry_lock);
    for (member* one = stale_; one != nullptr; one = one->next_stale) {
      one->collect(pool, depot_);
      one->trim(pool);
    }
  }

  // Both when no other thread uses the pool.
  template <class Pool>
  void settle(Pool& pool) {
    for (member* one = all_; one != nullptr; one = one->next_of_pool) one->desk.send_all();
    for (member* one = all_; one != nullptr; one = one->next_of_pool) one->collect(pool, depot_);
  }
  template <class F>
  void for_each_arena(F&& call) {
    for (member* one = all_; one != nullptr; one = one->next_of_pool) call(static_cast<arena<Layout>&>(*one));
  }
  // Before the pool goes: no thread that ends may look for it.
  void leave_threads() {
    const std::lock_guard hold(registry_lock);
    for (member* one = all_; one != nullptr; one = one->next_of_pool) {
      if (one->thread != nullptr) one->thread->remove(one);
    }
  }

 private:
  // The arena of a thread that has none: nothing to take, and no page is its own.
  static inline constinit member nobody{};

  HEAPLEDGER_POOL_HOT member* here() {
    const std::uint64_t number = number_.load(std::memory_order_relaxed);
    const thread_slot& slot = slots_of_thread[number % thread_slots];
    if (slot.pool_number == number) [[likely]]
      return static_cast<member*>(slot.arena);
    return find();
  }

  HEAPLEDGER_POOL_COLD member* find() {
    const std::lock_guard hold(registry_lock);
    std::uint64_t number = number_.load(std::memory_order_relaxed);
    if (number == no_number) number_.store(number = ++last_pool_number, std::memory_order_relaxed);
    member* found = &nobody;
    if (!thread_has_ended) {
      if (membership* const one = thread_arenas::mine().find(number)) found = static_cast<member*>(one);
    }
    slots_of_thread[number % thread_slots] = {number, found};
    return found;
  }

  template <class Pool>
  HEAPLEDGER_POOL_HOT void give_to_other(link* chunk, member* mine, member* owner, Pool& pool) {
    if (mine == &nobody) [[unlikely]] {
      mine = join(pool);
    }
    if (mine == nullptr || !mine->desk.add(chunk, owner, depot_)) [[unlikely]] {
      owner->push_remote(chunk);
    }
  }

  template <class Pool>
  HEAPLEDGER_POOL_COLD link* refill(Pool& pool) {
    member* mine = here();
    if (mine == &nobody) mine = join(pool);
    if (mine != nullptr) return next_of(mine, pool);
    if (!thread_has_ended) return nullptr;
    // A destructor of another thread-local object: an arena is lent for this once.
    const std::lock_guard hold(registry_lock);
    mine = obtain(pool);
    if (mine == nullptr) return nullptr;
    link* const chunk = next_of(mine, pool);
    make_stale(mine);
    return chunk;
  }
  template <class Pool>
  link* next_of(member* one, Pool& pool) {
    link* chunk = one->pop();
    if (chunk == nullptr) {
      one->desk.send_all();
      one->collect(pool, depot_);
      chunk = one->pop();
    }
    return chunk != nullptr ? chunk : one->refill(pool);
  }

  // An arena for this thread; null when there is no memory, or the thread has left its arenas already.
  template <class Pool>
  HEAPLEDGER_POOL_COLD member* join(Pool& pool) {
    if (thread_has_ended) return nullptr;
    const std::lock_guard hold(registry_lock);
    member* const mine = obtain(pool);
    if (mine == nullptr) return nullptr;
    thread_arenas::mine().add(mine);
    slots_of_thread[mine->pool_number % thread_slots] = {mine->pool_number, mine};
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
    one->leave = [](membership* left) {
      auto& of = *static_cast<Pool*>(left->pool_state);
      auto* const arena_left = static_cast<member*>(left);
      arena_left->desk.send_all();
      arena_left->collect(of, of.threads().depot_);
      of.threads().depot_.take_surplus(arena_left->desk.spare(), 0);
      arena_left->trim(of);
      of.analyzer().arena_stale(static_cast<arena<Layout>*>(arena_left));
      of.threads().make_stale(arena_left);
    };
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

  std::atomic<std::uint64_t> number_ = no_number;
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
