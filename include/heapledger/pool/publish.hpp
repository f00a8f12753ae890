// How a pool shows itself to a profiler: three weak functions that whoever profiles may define, and an analyzer that
// calls them.
//
// A program with a `published` pool links and runs without a profiler: the counters are then the pool's own. With one,
// they are where the profiler reads them from outside, and it may walk the stack at each event. The C names and the
// layout of heapledger_pool_counters are a contract: fields are added at the end only, and `size_bytes` says how many
// there are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "policy.hpp"

extern "C" {

// Written by the pool with relaxed atomic stores and adds, read by anyone at any time. Sums of one moment need not
// agree.
struct heapledger_pool_counters {
  std::uint64_t size_bytes;  // of this struct, as the pool knows it
  std::uint64_t chunk_bytes;
  std::uint64_t allocations;
  std::uint64_t frees;
  std::uint64_t allocated_bytes;  // as asked for
  std::uint64_t page_bytes;       // that the pool holds
  std::uint64_t pages;
  std::uint64_t arenas;
  std::uint64_t sizes[32];  // allocations by the bit width of their size
};

// Where the pool shall count, or null: then it counts for itself. `name` may be null, and need not outlive the call.
[[gnu::weak]] heapledger_pool_counters* heapledger_pool_open(const char* name, std::size_t chunk_bytes);
// The pool is gone; its counters may be reused.
[[gnu::weak]] void heapledger_pool_close(heapledger_pool_counters* counters);
// A chunk came, or is about to go. Called only for pools that heapledger_pool_open gave counters to.
[[gnu::weak]] void heapledger_pool_allocated(heapledger_pool_counters* counters, const void* chunk, std::size_t bytes);
[[gnu::weak]] void heapledger_pool_freed(heapledger_pool_counters* counters, const void* chunk);

}  // extern "C"

namespace heapledger {

// An analyzer. Nothing is shown before publish_as.
template <bool Concurrent = true>
class published : public no_analyzer {
 public:
  published() = default;
  published(const published&) = delete;
  published& operator=(const published&) = delete;
  ~published() {
    if (shown_ != nullptr && is_there(&heapledger_pool_close)) heapledger_pool_close(shown_);
  }

  // Before the first allocation.
  void publish_as(const char* name, std::size_t chunk_bytes) {
    own_.chunk_bytes = chunk_bytes;
    if (shown_ == nullptr && is_there(&heapledger_pool_open)) shown_ = heapledger_pool_open(name, chunk_bytes);
    if (shown_ != nullptr) {
      shown_->size_bytes = sizeof own_;
      shown_->chunk_bytes = chunk_bytes;
    }
  }
  const heapledger_pool_counters& counters() const noexcept { return shown_ != nullptr ? *shown_ : own_; }

  void allocated(void* chunk, std::size_t bytes, auto*) noexcept {
    heapledger_pool_counters& to = target();
    add(to.allocations, 1);
    add(to.allocated_bytes, bytes);
    const auto width = static_cast<std::size_t>(std::bit_width(bytes));
    add(to.sizes[width < 32 ? width : 31], 1);
    if (shown_ != nullptr && is_there(&heapledger_pool_allocated)) heapledger_pool_allocated(shown_, chunk, bytes);
  }
  void freed(void* chunk, auto*) noexcept {
    if (shown_ != nullptr && is_there(&heapledger_pool_freed)) heapledger_pool_freed(shown_, chunk);
    add(target().frees, 1);
  }
  void arena_created(const void*) noexcept { add_shared(target().arenas, 1); }
  void arena_destroyed(const void*) noexcept { add_shared(target().arenas, -std::uint64_t{1}); }
  void page_allocated(void*, std::size_t bytes) noexcept {
    add_shared(target().pages, 1);
    add_shared(target().page_bytes, bytes);
  }
  void page_freed(void*, std::size_t bytes) noexcept {
    add_shared(target().pages, -std::uint64_t{1});
    add_shared(target().page_bytes, -std::uint64_t{bytes});
  }

 private:
  template <class Function>
  static bool is_there(Function* weak) noexcept {
    return weak != nullptr;
  }
  heapledger_pool_counters& target() noexcept { return shown_ != nullptr ? *shown_ : own_; }
  static void add_shared(std::uint64_t& to, std::uint64_t amount) noexcept {
    __atomic_fetch_add(&to, amount, __ATOMIC_RELAXED);
  }
  static void add(std::uint64_t& to, std::uint64_t amount) noexcept {
    if constexpr (Concurrent) {
      add_shared(to, amount);
    } else {
      __atomic_store_n(&to, __atomic_load_n(&to, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
    }
  }

  heapledger_pool_counters own_{.size_bytes = sizeof(heapledger_pool_counters)};
  heapledger_pool_counters* shown_ = nullptr;
};

}  // namespace heapledger
