// The numbers and switches of a pool, a template argument: pool<..., pool_options{.alignment = 64}>.
//
// What depends on how a translation unit is compiled (which tool watches memory) is part of the type, so that two units
// compiled differently cannot mix up one pool.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEAPLEDGER_POOL_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAPLEDGER_POOL_UNDER_ASAN 1
#endif
#endif
#ifndef HEAPLEDGER_POOL_UNDER_ASAN
#define HEAPLEDGER_POOL_UNDER_ASAN 0
#endif

namespace heapledger {

// The tool that is told which bytes the program may touch.
//   address_sanitizer  chunks are poisoned while free, with red zones between them;
//                      the default in a build with -fsanitize=address
//   valgrind           chunks are blocks of memcheck; needs its headers;
//                      the default with -DHEAPLEDGER_POOL_VALGRIND
enum class memory_tool { none, address_sanitizer, valgrind };

#if HEAPLEDGER_POOL_UNDER_ASAN
inline constexpr memory_tool default_memory_tool = memory_tool::address_sanitizer;
#elif defined(HEAPLEDGER_POOL_VALGRIND)
inline constexpr memory_tool default_memory_tool = memory_tool::valgrind;
#else
inline constexpr memory_tool default_memory_tool = memory_tool::none;
#endif

// Was the unit compiled for it? Without that its pools would be watched by nobody, not even by marks.
constexpr bool is_there(memory_tool tool) {
#ifdef HEAPLEDGER_POOL_VALGRIND
  constexpr bool valgrind = true;
#else
  constexpr bool valgrind = false;
#endif
  return tool == memory_tool::none || (tool == memory_tool::valgrind ? valgrind : HEAPLEDGER_POOL_UNDER_ASAN != 0);
}

// In front of its chunk, or in a table of its page: chunks then stay dense, and keep their natural alignment.
enum class header_place { front, beside };

struct pool_options {
  std::size_t alignment = 0;         // 0: 16, or 8 when the chunk size is no multiple of 16
  std::size_t page_bytes = 0;        // 0: 64 KiB, or what holds 16 chunks; a power of two, more if none fits
  std::size_t keep_empty_pages = 4;  // an arena gives an empty page back when it has more than these; see docs/pools.md
  header_place header = header_place::front;
  memory_tool tool = default_memory_tool;
  bool bypass = false;  // every chunk comes from malloc, for tools that know only that

  bool operator==(const pool_options&) const = default;
};

}  // namespace heapledger
