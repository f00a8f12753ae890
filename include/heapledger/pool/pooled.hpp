// A base class that brings operator new and delete: objects of the class, and of classes derived from it, come from
// pools by their size.
//
//   struct event : heapledger::pooled<event> { virtual ~event(); };
//
// The pools of a class live as long as the program, so that objects may be deleted at any time; `pools()` reaches them.
// Arrays come from the global operator new.
#pragma once

#include <cstddef>
#include <new>

#include "pool_set.hpp"

namespace heapledger {

template <class Class, class Set = pool_set<threading::thread_cached>>
class pooled {
 public:
  HEAPLEDGER_POOL_HOT static void* operator new(std::size_t bytes) {
    return pools().allocate(bytes, alignment_of(bytes));
  }
  HEAPLEDGER_POOL_HOT static void operator delete(void* object, std::size_t bytes) noexcept {
    if (object != nullptr) pools().deallocate(object, bytes, alignment_of(bytes));
  }
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return pools().allocate(bytes, static_cast<std::size_t>(alignment));
  }
  static void operator delete(void* object, std::size_t bytes, std::align_val_t alignment) noexcept {
    if (object != nullptr) pools().deallocate(object, bytes, static_cast<std::size_t>(alignment));
  }
  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void operator delete(void*, void*) noexcept {}

  static Set& pools() noexcept { return set.value; }

 private:
  // Of an object that is not declared to be aligned more: no type's size is less than its alignment.
  static constexpr std::size_t alignment_of(std::size_t bytes) { return bytes % 16 == 0 ? 16 : 8; }

  union immortal {
    constexpr immortal() : value() {}
    ~immortal() {}
    Set value;
  };
  static inline constinit immortal set{};
};

}  // namespace heapledger
