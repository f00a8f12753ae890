// Not run: generated_code_test.py reads the machine code of these.
#include "heapledger/pool.hpp"

namespace heapledger {

// A free list and nothing else, as a measure.
struct bare_list {
  struct node {
    node* next;
  };
  node* free = nullptr;
};

struct empty_header {};
struct empty_analyzer : no_analyzer {};
struct empty_checks : no_checks {};

inline constexpr pool_options plain{.tool = memory_tool::none};
using single_default = pool<48, threading::single, no_header, no_analyzer, no_checks, plain>;
using single_empty = pool<48, threading::single, empty_header, empty_analyzer, empty_checks, plain>;
using single_exact = pool<48, threading::single, no_header, no_analyzer, exact_checks, plain>;
using cached_default = pool<48, threading::thread_cached, no_header, no_analyzer, no_checks, plain>;
using cached_exact = pool<48, threading::thread_cached, no_header, no_analyzer, exact_checks, plain>;
using cached_empty = pool<48, threading::thread_cached, empty_header, empty_analyzer, empty_checks, plain>;

extern "C" {
void* list_allocate(bare_list& list) {
  bare_list::node* const one = list.free;
  if (one == nullptr) [[unlikely]]
    return nullptr;
  list.free = one->next;
  return one;
}

#define PAIR(name)                                  \
  void* name##_allocate(name& pool) {               \
    return pool.allocate();                         \
  }                                                 \
  void name##_deallocate(name& pool, void* chunk) { \
    pool.deallocate(chunk);                         \
  }
PAIR(single_default)
PAIR(single_empty)
PAIR(single_exact)
PAIR(cached_default)
PAIR(cached_exact)
PAIR(cached_empty)
}

}  // namespace heapledger
