// Which threads hold which arenas, over all pools; and each thread's table of the arenas it used last.
//
// A thread that ends leaves its arenas to their pools. All links between threads and arenas are changed under one lock;
// the table is the thread's own, and its entries are keyed by pool numbers that are never used again, so a pool that is
// gone need not be taken out of it.
#pragma once

#include <cstdint>
#include <mutex>

#include "attributes.hpp"

namespace heapledger::pool_detail {

struct thread_arenas;

struct membership {
  std::uint64_t pool_number = 0;
  thread_arenas* thread = nullptr;
  membership* next_of_thread = nullptr;
  void* pool_state = nullptr;
  void (*leave)(membership*) = nullptr;  // under the lock, when the thread ends
};

struct thread_slot {
  std::uint64_t pool_number = 0;
  void* arena = nullptr;
};
inline constexpr std::size_t thread_slots = 64;
inline constexpr std::uint64_t no_number = ~std::uint64_t{0};

inline constinit std::mutex registry_lock;
inline constinit std::uint64_t last_pool_number = 0;
inline constinit thread_local thread_slot slots_of_thread[thread_slots]{};
inline constinit thread_local bool thread_has_ended = false;

struct thread_arenas {
  membership* first = nullptr;

  constexpr thread_arenas() = default;
  ~thread_arenas() {
    const std::lock_guard hold(registry_lock);
    thread_has_ended = true;  // what runs later on this thread borrows arenas
    for (thread_slot& slot : slots_of_thread) slot = {};
    while (first != nullptr) {
      membership* const one = first;
      first = one->next_of_thread;
      one->thread = nullptr;
      one->leave(one);
    }
  }

  // Both under the lock.
  void add(membership* one) {
    one->thread = this;
    one->next_of_thread = first;
    first = one;
  }
  void remove(const membership* gone) {
    for (membership** at = &first; *at != nullptr; at = &(*at)->next_of_thread) {
      if (*at == gone) {
        *at = gone->next_of_thread;
        return;
      }
    }
  }
  membership* find(std::uint64_t pool_number) const {
    membership* one = first;
    while (one != nullptr && one->pool_number != pool_number) one = one->next_of_thread;
    return one;
  }

  static thread_arenas& mine() {
    static thread_local thread_arenas arenas;
    return arenas;
  }
};

}  // namespace heapledger::pool_detail
