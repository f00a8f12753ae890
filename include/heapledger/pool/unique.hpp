// std::unique_ptr to an object in a pool, whose chunks must be large and aligned enough for it (alignof 16 wants chunks
// of a multiple of 16, or pool_options::alignment). The pool must outlive it. Throws std::bad_alloc, and what the
// object's constructor throws.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../pool.hpp"

namespace heapledger {

template <class T, class Pool>
class pool_delete {
 public:
  pool_delete() = default;  // of a pointer that is null
  explicit pool_delete(Pool* pool) noexcept : pool_(pool) {}
  void operator()(T* object) const noexcept {
    object->~T();
    pool_->deallocate(const_cast<std::remove_cv_t<T>*>(object));
  }

 private:
  Pool* pool_ = nullptr;
};

template <class T, class Pool>
using pool_ptr = std::unique_ptr<T, pool_delete<T, Pool>>;

template <class T, class Pool, class... Argument>
pool_ptr<T, Pool> make_pooled(Pool& pool, Argument&&... arguments) {
  static_assert(sizeof(T) <= Pool::chunk_bytes, "the pool's chunks are too small");
  static_assert(alignof(T) <= Pool::layout::alignment, "the pool's chunks are not aligned enough");
  struct place {
    Pool& pool;
    void* chunk;
    ~place() { pool.deallocate(chunk); }  // null when all went well
  } at{pool, pool.allocate(sizeof(T))};
  T* const object = ::new (at.chunk) T(std::forward<Argument>(arguments)...);
  at.chunk = nullptr;
  return pool_ptr<T, Pool>(object, pool_delete<T, Pool>(&pool));
}

}  // namespace heapledger
