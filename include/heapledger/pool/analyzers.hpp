// Analyzers that are ready to use. Each takes the pool's threading policy and is as thread safe as that.
//
//   using mode = heapledger::threading::thread_cached;
//   using watched = heapledger::pool<48, mode, heapledger::birth_time,
//                                    heapledger::analyzers<heapledger::counting<mode>, heapledger::lifetimes<mode>>>;
#pragma once

#include <cstddef>
#include <cstdio>
#include <vector>

#include "counter.hpp"
#include "headers.hpp"
#include "histogram.hpp"
#include "policy.hpp"
#include "thread_cached.hpp"

namespace heapledger {

// How many of everything.
template <class Threading = threading::thread_cached>
struct counting : no_analyzer {
  using number = pool_detail::counter<Threading::concurrent>;
  // A thread takes pages while another one leaves, whatever the policy.
  using rare_number = pool_detail::counter<true>;

  number allocations, frees;
  number allocated_bytes;  // as asked for
  rare_number leaks;       // like arenas_destroyed counted when the pool ends: for an analyzer that hands them on
  rare_number arenas_created, arenas_stale, arenas_reused, arenas_destroyed;
  rare_number pages_allocated, pages_freed;

  std::uint64_t chunks_in_use() const noexcept { return left(allocations, frees); }
  std::uint64_t pages() const noexcept { return left(pages_allocated, pages_freed); }

  void allocated(void*, std::size_t bytes, auto*) noexcept {
    allocations.add(1);
    allocated_bytes.add(bytes);
  }
  void freed(void*, auto*) noexcept { frees.add(1); }
  void leaked(void*, auto*) noexcept { leaks.add(1); }
  void arena_created(const void*) noexcept { arenas_created.add(1); }
  void arena_stale(const void*) noexcept { arenas_stale.add(1); }
  void arena_reused(const void*) noexcept { arenas_reused.add(1); }
  void arena_destroyed(const void*) noexcept { arenas_destroyed.add(1); }
  void page_allocated(void*, std::size_t) noexcept { pages_allocated.add(1); }
  void page_freed(void*, std::size_t) noexcept { pages_freed.add(1); }
};

// How large what was asked for is.
template <class Threading = threading::thread_cached>
struct sizes : no_analyzer {
  log_histogram<Threading::concurrent> asked_bytes;
  void allocated(void*, std::size_t bytes, auto*) noexcept { asked_bytes.add(bytes); }
};

// How long chunks live, in nanoseconds. The header must be, or hold, a birth_time.
template <class Threading = threading::thread_cached>
struct lifetimes : no_analyzer {
  log_histogram<Threading::concurrent> age_ns;
  void freed(void*, auto* header) noexcept { age_ns.add(header->age_ns()); }
};

struct leaked_chunk {
  void* chunk;  // already gone when this is read
  std::vector<void*> allocated_at;
};

// What was never freed, with stacks where the header keeps them: into a list that outlives the pool, or to standard
// error.
struct leak_list : no_analyzer {
  std::vector<leaked_chunk>* into = nullptr;

  void leaked(void* chunk, auto* header) {
    leaked_chunk found{chunk, {}};
    if constexpr (requires { header->stack(); }) {
      const auto stack = header->stack();
      found.allocated_at.assign(stack.begin(), stack.end());
    }
    if (into != nullptr) {
      into->push_back(std::move(found));
      return;
    }
    std::fprintf(stderr, "heapledger: leaked chunk %p\n", chunk);
    for (void* const address : found.allocated_at) std::fprintf(stderr, "  allocated at %p\n", address);
  }
};

// Several at once, in this order.
template <class... Analyzer>
struct analyzers : Analyzer... {
  void opened(const pool_identity& pool) { (Analyzer::opened(pool), ...); }
  void allocated(void* chunk, std::size_t bytes, auto* header) { (Analyzer::allocated(chunk, bytes, header), ...); }
  void freed(void* chunk, auto* header) { (Analyzer::freed(chunk, header), ...); }
  void leaked(void* chunk, auto* header) { (Analyzer::leaked(chunk, header), ...); }
  void arena_created(const void* arena) { (Analyzer::arena_created(arena), ...); }
  void arena_stale(const void* arena) { (Analyzer::arena_stale(arena), ...); }
  void arena_reused(const void* arena) { (Analyzer::arena_reused(arena), ...); }
  void arena_destroyed(const void* arena) { (Analyzer::arena_destroyed(arena), ...); }
  void page_allocated(void* page, std::size_t bytes) { (Analyzer::page_allocated(page, bytes), ...); }
  void page_freed(void* page, std::size_t bytes) { (Analyzer::page_freed(page, bytes), ...); }
};

}  // namespace heapledger
