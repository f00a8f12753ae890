// A pool_set as a std::pmr::memory_resource: any size and alignment, thread safe as the set's threading policy is,
// throws what the set throws.
//
//   heapledger::pool_resource<> resource;
//   std::pmr::list<int> list(&resource);
#pragma once

#include <cstddef>
#include <memory_resource>

#include "pool_set.hpp"

namespace heapledger {

template <class Set = pool_set<>>
class pool_resource : public std::pmr::memory_resource {
  static_assert(pool_detail::takes_sizes<Set>,
                "a resource is made of a set, as pool_resource<pool_set<threading::...>>");

 public:
  explicit pool_resource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) : set_(upstream) {}
  explicit pool_resource(std::nullptr_t) {}
  explicit pool_resource(const char* name, std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
      : set_(name, upstream) {}

  Set& pools() noexcept { return set_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return set_.allocate(bytes, alignment); }
  void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override {
    set_.deallocate(chunk, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  Set set_;
};

}  // namespace heapledger
