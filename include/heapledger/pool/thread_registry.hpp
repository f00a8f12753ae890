// Which threads hold which arenas, over all pools; and each thread's table of its arenas.
//
// A thread that ends leaves its arenas to their pools. All links between threads and arenas are changed under one lock;
// who forks holds it, and in the child the arenas of other threads have nobody in them.
// A pool has a slot, the same in the tables of all threads, as long as it lives; pools that come when all slots are
// taken are looked for among those that the thread used last, by numbers that are never used again.
#pragma once

#include <pthread.h>

#include <bit>
#include <cstddef>
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

inline constexpr std::size_t thread_slots = 128;
inline constexpr std::size_t no_slot = 0;  // whose arena is null in every thread
inline constexpr std::uint64_t no_number = 0;

// A thread may take it again: analyzers are told of arenas and pages under it, and may use other pools.
class recursive_lock {
 public:
  void lock() {
    if (depth++ == 0) lock_.lock();
  }
  void unlock() {
    if (--depth == 0) lock_.unlock();
  }

 private:
  HEAPLEDGER_POOL_ONE static inline constinit thread_local unsigned depth = 0;
  std::mutex lock_;
};
HEAPLEDGER_POOL_ONE inline constinit recursive_lock registry_lock;
HEAPLEDGER_POOL_ONE inline constinit std::uint64_t last_pool_number = no_number;
HEAPLEDGER_POOL_ONE inline constinit std::uint64_t free_slots[thread_slots / 64] = {~std::uint64_t{1},
                                                                                    ~std::uint64_t{0}};
HEAPLEDGER_POOL_ONE inline constinit thread_local void* arenas_of_thread[thread_slots]{};
HEAPLEDGER_POOL_ONE inline constinit thread_local bool thread_has_ended = false;

HEAPLEDGER_POOL_ONE inline constinit thread_arenas* first_thread = nullptr;  // of those that have arenas
// Each library has its own: handlers go with a library that is unloaded.
[[gnu::visibility("hidden")]] inline constinit bool looks_after_forks = false;

// Both under the lock.
inline std::size_t take_slot() {
  for (std::size_t i = 0; i < thread_slots / 64; ++i) {
    if (free_slots[i] == 0) continue;
    const auto bit = static_cast<std::size_t>(std::countr_zero(free_slots[i]));
    free_slots[i] &= free_slots[i] - 1;
    return 64 * i + bit;
  }
  return no_slot;
}
inline void give_back_slot(std::size_t slot) {
  if (slot != no_slot) free_slots[slot / 64] |= std::uint64_t{1} << slot % 64;
}

struct thread_arenas {
  struct recent {
    std::uint64_t pool_number = no_number;
    membership* arena = nullptr;
  };
  membership* first = nullptr;
  void** const arenas = arenas_of_thread;
  thread_arenas* next = nullptr;
  thread_arenas* previous = nullptr;
  recent without_slot[64]{};

  thread_arenas() = default;
  thread_arenas(const thread_arenas&) = delete;
  thread_arenas& operator=(const thread_arenas&) = delete;
  ~thread_arenas() { leave_all(); }

  // What leaves an arena is code of the library that took it, which is kept until the thread ends by a destructor that
  // it has to run then. Not under the lock: the dynamic linker has one of its own.
  [[gnu::visibility("hidden")]] static void keep_library() {
    struct ending {
      ~ending() { mine().leave_all(); }  // the first that ends, while all libraries are there
    };
    static thread_local const ending at_end;
  }

  void leave_all() {
    const std::lock_guard hold(registry_lock);
    thread_has_ended = true;  // what runs later on this thread borrows arenas
    for (void*& arena : arenas_of_thread) arena = nullptr;
    leave_list();
    while (first != nullptr) {
      membership* const one = first;
      first = one->next_of_thread;
      one->thread = nullptr;
      one->leave(one);
    }
  }

  // Both under the lock.
  void add(membership* one) {
    look_after_forks();
    if (first == nullptr) join_list();
    one->thread = this;
    one->next_of_thread = first;
    first = one;
  }
  void remove(const membership* gone) {
    for (membership** at = &first; *at != nullptr; at = &(*at)->next_of_thread) {
      if (*at == gone) {
        *at = gone->next_of_thread;
        break;
      }
    }
    if (first == nullptr) leave_list();
  }
  membership* find(std::uint64_t pool_number) const {
    membership* one = first;
    while (one != nullptr && one->pool_number != pool_number) one = one->next_of_thread;
    return one;
  }

  HEAPLEDGER_POOL_ONE static thread_arenas& mine() {
    static thread_local thread_arenas arenas;
    return arenas;
  }

 private:
  // Several libraries may do so: the lock may be taken again, and threads forgotten.
  static void look_after_forks() {
    if (looks_after_forks) return;
    looks_after_forks = ::pthread_atfork([] { registry_lock.lock(); }, [] { registry_lock.unlock(); },
                                         [] {
                                           forget_other_threads();
                                           registry_lock.unlock();
                                         }) == 0;
  }
  void join_list() {
    next = first_thread;
    if (next != nullptr) next->previous = this;
    first_thread = this;
  }
  void leave_list() {
    if (next != nullptr) next->previous = previous;
    if (previous != nullptr) {
      previous->next = next;
    } else if (first_thread == this) {
      first_thread = next;
    }
    next = previous = nullptr;
  }

  // In a forked child there is one thread. The tables of the others can still be read here, but new threads get their
  // stacks.
  static void forget_other_threads() {
    thread_arenas* survivor = nullptr;
    for (thread_arenas* one = first_thread; one != nullptr; one = one->next) {
      if (one->arenas == arenas_of_thread) {
        survivor = one;
        continue;
      }
      for (membership* left = one->first; left != nullptr; left = left->next_of_thread) left->thread = nullptr;
    }
    first_thread = survivor;
    if (survivor != nullptr) survivor->next = survivor->previous = nullptr;
  }
};

}  // namespace heapledger::pool_detail
