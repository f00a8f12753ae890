// How a pool shows itself to a profiler: an analyzer that counts where the profiler reads, and the weak functions that
// the profiler defines. heapledger's probe does; its report, top and page show such pools as heaps of their own.
//
//   heapledger::pool<48, mode, heapledger::no_header, heapledger::published<>> pool("requests");
//
// tells how much; with heapledger::allocation_site in the place of no_header also from where.
//
// A program with a `published` pool links and runs without a profiler: the counters are then the pool's own. The C
// names and the layout of heapledger_pool_counters are a contract: fields are added at the end only, and `size_bytes`
// says how many there are.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "policy.hpp"
#include "violation.hpp"

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
  std::uint64_t peak_page_bytes;
  std::uint64_t moved;  // chunks that the profiler ever gave another place
};

// Where the pool shall count, or null: then it counts for itself. `name` may be null, and need not outlive the call.
[[gnu::weak]] heapledger_pool_counters* heapledger_pool_open(const char* name, std::size_t chunk_bytes);
// The pool is gone; its counters may be reused.
[[gnu::weak]] void heapledger_pool_close(heapledger_pool_counters* counters);
// A chunk came: the profiler walks the stack, and may name it by a number that is not 0. Called only for pools that
// heapledger_pool_open gave counters to, and whose header has room for the number.
[[gnu::weak]] std::uint32_t heapledger_pool_allocated(heapledger_pool_counters* counters, const void* chunk,
                                                      std::size_t bytes);
// Such a chunk is about to go. `site` and `bytes` are what heapledger_pool_allocated answered and was told.
[[gnu::weak]] void heapledger_pool_freed(heapledger_pool_counters* counters, const void* chunk, std::uint32_t site,
                                         std::size_t bytes);

// Then: the profiler may give the program another place for the chunk, of so many bytes and such an alignment, where it
// sees any access; null: it stays where it is. The chunk waits meanwhile, and is what the pool goes on to know.
[[gnu::weak]] void* heapledger_pool_watched(heapledger_pool_counters* counters, void* chunk, std::uint32_t site,
                                            std::size_t bytes, std::size_t capacity, std::size_t alignment);
// The chunk that waits for such a place; null: it waits no more. Any other pointer is returned as it is.
[[gnu::weak]] void* heapledger_pool_chunk(void* given);
// The place is empty now.
[[gnu::weak]] void heapledger_pool_unwatched(void* place);

}  // extern "C"

namespace heapledger {

// A header: what the profiler calls the stack that allocated the chunk. Costs a walk of the stack at each allocation
// where a profiler is there, and nothing but its eight bytes elsewhere.
struct allocation_site {
  std::uint32_t site = 0;
  std::uint32_t bytes : 31 = 0;
  std::uint32_t is_moved : 1 = 0;  // the profiler has given it another place, noted in the chunk
};

// An analyzer: counts, and shows the pool under its name from its first allocation on.
template <bool Concurrent = true>
class published : public no_analyzer {
 public:
  constexpr published() noexcept { own_.size_bytes = sizeof own_; }
  published(const published&) = delete;
  published& operator=(const published&) = delete;
  ~published() {
    if (shown_ != nullptr && is_there(&heapledger_pool_close)) heapledger_pool_close(shown_);
  }

  void opened(const pool_identity& pool) noexcept { publish_as(pool.name, pool.chunk_bytes); }
  // By another name: before the first allocation. A second call does nothing.
  void publish_as(const char* name, std::size_t chunk_bytes) noexcept {
    if (own_.chunk_bytes != 0) return;
    own_.chunk_bytes = chunk_bytes;
    if (is_there(&heapledger_pool_open)) shown_ = heapledger_pool_open(name, chunk_bytes);
    if (shown_ != nullptr) {
      shown_->size_bytes = sizeof own_;
      shown_->chunk_bytes = chunk_bytes;
    }
  }
  const heapledger_pool_counters& counters() const noexcept { return shown_ != nullptr ? *shown_ : own_; }

  template <class Header>
  void allocated(void* chunk, std::size_t bytes, Header* header) noexcept {
    heapledger_pool_counters& to = target();
    add(to.allocations, 1);
    add(to.allocated_bytes, bytes);
    const auto width = static_cast<std::size_t>(std::bit_width(bytes));
    add(to.sizes[width < 32 ? width : 31], 1);
    if constexpr (std::derived_from<Header, allocation_site>) {
      if (shown_ == nullptr || !is_there(&heapledger_pool_allocated)) return;
      header->bytes = static_cast<std::uint32_t>(bytes) & 0x7fffffff;
      header->site = heapledger_pool_allocated(shown_, chunk, bytes);
    }
  }

  // Chunks that the profiler watches live elsewhere.
  template <class Header>
  static constexpr bool moves = std::derived_from<Header, allocation_site>;
  // What the program gets instead of `chunk`:
  void* place(void* chunk, std::size_t bytes, std::size_t capacity, std::size_t alignment,
              allocation_site* header) noexcept {
    if (shown_ == nullptr || header->site == 0 || !is_there(&heapledger_pool_watched)) return chunk;
    void* const place = heapledger_pool_watched(shown_, chunk, header->site, bytes, capacity, alignment);
    if (place == nullptr) return chunk;
    header->is_moved = 1;
    note(chunk) = ~reinterpret_cast<std::uintptr_t>(place);
    add_shared(shown_->moved, 1);
    return place;
  }
  // And back: the pool's own chunk; null: freed already.
  void* chunk_at(void* given) const noexcept {
    const bool any_moved = shown_ != nullptr && __atomic_load_n(&shown_->moved, __ATOMIC_RELAXED) != 0;
    return any_moved ? heapledger_pool_chunk(given) : given;
  }
  // The same without a pool at hand.
  static void* any_chunk_at(void* given) noexcept {
    return is_there(&heapledger_pool_chunk) ? heapledger_pool_chunk(given) : given;
  }
  // Where the program has a chunk.
  static void* place_of(void* chunk, const allocation_site* header) noexcept {
    return header->is_moved != 0 ? reinterpret_cast<void*>(~note(chunk)) : chunk;
  }

  template <class Header>
  void freed(void* chunk, Header* header) noexcept {
    come_back(chunk, header);
    if constexpr (std::derived_from<Header, allocation_site>) {
      if (header->site != 0 && is_there(&heapledger_pool_freed))
        heapledger_pool_freed(shown_, chunk, header->site, header->bytes);
    }
    add(target().frees, 1);
  }
  template <class Header>
  void leaked(void* chunk, Header* header) noexcept {
    come_back(chunk, header);
  }
  void arena_created(const void*) noexcept { add_shared(target().arenas, 1); }
  void arena_destroyed(const void*) noexcept { add_shared(target().arenas, -std::uint64_t{1}); }
  void page_allocated(void*, std::size_t bytes) noexcept {
    add_shared(target().pages, 1);
    const std::uint64_t now = __atomic_add_fetch(&target().page_bytes, bytes, __ATOMIC_RELAXED);
    std::uint64_t peak = __atomic_load_n(&target().peak_page_bytes, __ATOMIC_RELAXED);
    while (now > peak && !__atomic_compare_exchange_n(&target().peak_page_bytes, &peak, now, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
    }
  }
  void page_freed(void*, std::size_t bytes) noexcept {
    add_shared(target().pages, -std::uint64_t{1});
    add_shared(target().page_bytes, -std::uint64_t{bytes});
  }

 private:
  // In a chunk that waits: its place, complemented, for whoever searches the memory for pointers to that.
  static std::uintptr_t& note(void* chunk) noexcept { return *static_cast<std::uintptr_t*>(chunk); }
  template <class Header>
  static void come_back(void* chunk, Header* header) noexcept {
    if constexpr (std::derived_from<Header, allocation_site>) {
      if (header->is_moved != 0) heapledger_pool_unwatched(place_of(chunk, header));
      header->is_moved = 0;
    }
  }
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

  heapledger_pool_counters own_{};
  heapledger_pool_counters* shown_ = nullptr;
};

}  // namespace heapledger
