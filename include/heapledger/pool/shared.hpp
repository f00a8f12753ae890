// Any thread, one arena, one lock around everything: exact in memory, slow when threads meet.
#pragma once

#include "single.hpp"
#include "spin_lock.hpp"

namespace heapledger::threading {

template <class Lock>
struct shared_with {
  static constexpr bool concurrent = false;
  using lock_type = Lock;
  using page_lock_type = pool_detail::no_lock<struct pages>;
  template <class Layout>
  using state = pool_detail::one_arena<Layout>;
};

struct shared : shared_with<spin_lock> {};

}  // namespace heapledger::threading
