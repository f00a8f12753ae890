// Tells AddressSanitizer or Valgrind which bytes of a page the program may touch, and touches its own links and marks
// behind their backs. With memory_tool::none all of it is nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attributes.hpp"
#include "options.hpp"

#if HEAPLEDGER_POOL_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#endif
#ifdef HEAPLEDGER_POOL_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace heapledger::pool_detail {

struct link {
  link* next;
};

// A word may be asked for at any address, since the program may have given any; the built-ins allow that, as atomic_ref
// does not.
using word = std::uint64_t;

template <memory_tool>
struct tool {
  static constexpr std::size_t red_zone_bytes = 0;
  static void open_pool(const void*) {}
  static void close_pool(const void*) {}
  static void forbid(const void*, std::size_t) {}            // pool memory that the program may not touch
  static void allow(const void*, std::size_t) {}             // our own, or back to the system
  static void allocated(const void*, void*, std::size_t) {}  // a chunk is the program's
  static void freed(const void*, void*, std::size_t) {}      // and no longer
  HEAPLEDGER_POOL_HOT static link* next(const link* at) { return at->next; }
  HEAPLEDGER_POOL_HOT static void set_next(link* at, link* to) { at->next = to; }
  HEAPLEDGER_POOL_HOT static word get(const word* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
  HEAPLEDGER_POOL_HOT static void put(word* at, word value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
  HEAPLEDGER_POOL_HOT static bool change(word* at, word from, word to) {
    return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
};

#if HEAPLEDGER_POOL_UNDER_ASAN
template <>
struct tool<memory_tool::address_sanitizer> {
  static constexpr std::size_t red_zone_bytes = 16;
  static void open_pool(const void*) {}
  static void close_pool(const void*) {}
  static void forbid(const void* at, std::size_t bytes) { __asan_poison_memory_region(at, bytes); }
  static void allow(const void* at, std::size_t bytes) { __asan_unpoison_memory_region(at, bytes); }
  static void allocated(const void*, void* chunk, std::size_t bytes) { __asan_unpoison_memory_region(chunk, bytes); }
  static void freed(const void*, void* chunk, std::size_t bytes) { __asan_poison_memory_region(chunk, bytes); }
  HEAPLEDGER_POOL_UNCHECKED static link* next(const link* at) { return at->next; }
  HEAPLEDGER_POOL_UNCHECKED static void set_next(link* at, link* to) { at->next = to; }
  HEAPLEDGER_POOL_UNCHECKED static word get(const word* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
  HEAPLEDGER_POOL_UNCHECKED static void put(word* at, word value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
  HEAPLEDGER_POOL_UNCHECKED static bool change(word* at, word from, word to) {
    return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
};
#endif

#ifdef HEAPLEDGER_POOL_VALGRIND
template <>
struct tool<memory_tool::valgrind> {
  static constexpr std::size_t red_zone_bytes = 16;
  static void open_pool(const void* pool) { VALGRIND_CREATE_MEMPOOL(pool, 0, 0); }
  static void close_pool(const void* pool) { VALGRIND_DESTROY_MEMPOOL(pool); }
  static void forbid(const void* at, std::size_t bytes) { (void)VALGRIND_MAKE_MEM_NOACCESS(at, bytes); }
  static void allow(const void* at, std::size_t bytes) { (void)VALGRIND_MAKE_MEM_DEFINED(at, bytes); }
  static void allocated(const void* pool, void* chunk, std::size_t bytes) {
    VALGRIND_MEMPOOL_ALLOC(pool, chunk, bytes);
  }
  static void freed(const void* pool, void* chunk, std::size_t) { VALGRIND_MEMPOOL_FREE(pool, chunk); }
  static link* next(const link* at) {
    allow(at, sizeof *at);
    link* const result = at->next;
    forbid(at, sizeof *at);
    return result;
  }
  static void set_next(link* at, link* to) {
    allow(at, sizeof *at);
    at->next = to;
    forbid(at, sizeof *at);
  }
  // Where the program gave a pointer that is none, this is in the middle of its chunk, which stays as it is.
  static word get(const word* at) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    const word value = tool<memory_tool::none>::get(at);
    VALGRIND_ENABLE_ERROR_REPORTING;
    allow(&value, sizeof value);
    return value;
  }
  static void put(word* at, word value) {
    allow(at, sizeof *at);
    tool<memory_tool::none>::put(at, value);
    forbid(at, sizeof *at);
  }
  static bool change(word* at, word from, word to) {
    allow(at, sizeof *at);
    const bool done = tool<memory_tool::none>::change(at, from, to);
    forbid(at, sizeof *at);
    return done;
  }
};
#endif

}  // namespace heapledger::pool_detail
