// A standard allocator over a pool_set, which must outlive the container. The size of one element is a constant, so a
// container of nodes reaches its pool without a table. Throws std::bad_alloc and std::bad_array_new_length; containers
// in several threads want a set that is thread safe.
//
//   heapledger::pool_set<> pools;
//   std::list<int, heapledger::pool_allocator<int>> list(&pools);
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "errors.hpp"
#include "pool_set.hpp"

namespace heapledger {

template <class T, class Set = pool_set<>>
class pool_allocator {
 public:
  using value_type = T;
  template <class U>
  struct rebind {
    using other = pool_allocator<U, Set>;
  };

  pool_allocator(Set* pools) noexcept : pools_(pools) {}
  template <class U>
  pool_allocator(const pool_allocator<U, Set>& other) noexcept : pools_(other.pools()) {}

  T* allocate(std::size_t count) {
    static_assert(pool_detail::takes_sizes<Set>, "the second argument is a set, as pool_set<threading::...>");
    if (count == 1) [[likely]]
      return static_cast<T*>(pools_->allocate(sizeof(T), alignment));
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) pool_detail::throw_bad_array_new_length();
    return static_cast<T*>(pools_->allocate(count * sizeof(T), alignment));
  }
  void deallocate(T* chunk, std::size_t count) noexcept {
    if (count == 1) [[likely]] {
      pools_->deallocate(chunk, sizeof(T), alignment);
    } else {
      pools_->deallocate(chunk, count * sizeof(T), alignment);
    }
  }

  Set* pools() const noexcept { return pools_; }
  template <class U>
  bool operator==(const pool_allocator<U, Set>& other) const noexcept {
    return pools_ == other.pools();
  }

 private:
  static constexpr std::size_t alignment = alignof(T);

  Set* pools_;
};

}  // namespace heapledger
