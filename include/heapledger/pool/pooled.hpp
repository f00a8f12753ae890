// A base class that brings operator new and delete: objects of the class, and of classes derived from it, come from
// pools by their size.
//
//   struct event : heapledger::pooled<event> { virtual ~event(); };
//
// The pools of a class have its name. They live as long as the program, so that objects may be deleted at any time;
// `pools()` reaches them. Arrays come from the global operator new.
//
// Where their type is not given they look for no mistakes, whatever NDEBUG says: a class is the same in all units that
// include it, also in a library that was built otherwise. Where all are built alike, give checks yourself:
//
//   template <class T>
//   using checked = heapledger::pooled<T, heapledger::pool_set<heapledger::threading::thread_cached,
//                                        heapledger::no_header, heapledger::no_analyzer, heapledger::exact_checks>>;
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "class_name.hpp"
#include "pool_set.hpp"

namespace heapledger {

template <class Class, class Set = pool_set<threading::thread_cached, no_header, no_analyzer, no_checks>>
class pooled {
 public:
  HEAPLEDGER_POOL_HOT static void* operator new(std::size_t bytes) {
    static_assert(pool_detail::takes_sizes<Set>, "the second argument is a set, as pool_set<threading::...>");
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

  HEAPLEDGER_POOL_HOT static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return pools().try_allocate(bytes, alignment_of(bytes));
  }
  static void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return pools().try_allocate(bytes, static_cast<std::size_t>(alignment));
  }
  // When a constructor has thrown. With `bypass` the object is lost: nothing says where it is from.
  static void operator delete(void* object, const std::nothrow_t&) noexcept {
    operator delete (object, std::align_val_t{most_alignment}, std::nothrow);
  }
  static void operator delete(void* object, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    if constexpr (requires(Set & owner) { owner.deallocate_if_owned(object); }) {
      if (!pools().deallocate_if_owned(object)) ::operator delete(object, alignment);
    }
  }

  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void operator delete(void*, void*) noexcept {}

  static Set& pools() noexcept { return set.value; }

 private:
  // Of an object that is not declared to be aligned more: no type's size is less than its alignment.
  static constexpr std::size_t alignment_of(std::size_t bytes) {
    return bytes % 16 == 0 || bytes > Set::largest ? most_alignment : 8;
  }
  static constexpr std::size_t most_alignment = 16;

  union immortal {
    constexpr immortal() requires(!std::is_constructible_v<Set, const char*>) : value() {}
    constexpr immortal() requires(std::is_constructible_v<Set, const char*>)
        : value(pool_detail::class_name<Class>.data()) {}
    ~immortal() {}
    Set value;
  };
  static inline constinit immortal set{};
};

}  // namespace heapledger
