// The checks themselves: what is written beside and into chunks, and what is looked at when one comes back.
//
// A mark is a word next to a chunk that holds the chunk's address, masked. The one in front says whether the chunk is
// in use, so that one comparison answers several questions at once: a pointer into the middle of a chunk, a chunk that
// is free, a write in front of it, each leaves another word there. Only when it differs is it asked why, off the fast
// path. Measured: a second mark that changes, behind the chunk, took a fifth of the pair of allocate and free; so that
// one is constant.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "page.hpp"
#include "segment_map.hpp"
#include "violation.hpp"

namespace heapledger::pool_detail {

inline constexpr std::uint8_t fresh_pattern = 0xCD;
inline constexpr std::uint8_t freed_pattern = 0xDD;

template <class Layout>
struct watch {
  using checks = typename Layout::checks;
  using header = typename Layout::header_type;
  using tool_type = typename Layout::tool_type;
  static_assert(checks::ownership || !(checks::position || checks::double_free),
                "where a chunk begins can only be asked of a pointer that is known to be the pool's");

  // When a chunk is carved out of its page.
  static void prepare(link* chunk) {
    if constexpr (Layout::has_front_mark) tool_type::put(front(chunk), free_mark(chunk));
    if constexpr (Layout::has_back_mark) put_back(chunk, used_mark(chunk));
    if constexpr (checks::fill) {
      tool_type::allow(chunk, Layout::payload_bytes);
      std::memset(static_cast<void*>(chunk), freed_pattern, Layout::payload_bytes);
      tool_type::forbid(chunk, Layout::payload_bytes);
    }
  }

  // When the program gets it.
  HEAPLEDGER_POOL_HOT static void taken(link* chunk, const pool_identity* pool) {
    if constexpr (Layout::has_front_mark) tool_type::put(front(chunk), used_mark(chunk));
    if constexpr (checks::fill) {
      if (!still_filled(chunk)) [[unlikely]] {
        checks::failed({.kind = violation_kind::written_after_free, .pointer = chunk, .pool = pool});
      }
      std::memset(static_cast<void*>(chunk), fresh_pattern, Layout::payload_bytes);
    }
  }

  // When it comes back: may it? Nothing of the pool has been changed when the answer is no.
  // Is it in a page of this pool? Not asked of what is in the arena's current page.
  HEAPLEDGER_POOL_HOT static bool is_mine(const void* chunk, const pool_identity* pool) {
    if constexpr (checks::ownership) {
      if (segment_map::find(chunk) != pool) [[unlikely]] {
        return refuse_owner(chunk, pool);
      }
      if (page_of<Layout>::is_descriptions(chunk)) [[unlikely]] {
        return refuse_position(chunk, pool);
      }
    }
    return true;
  }
  // `alone`: no other thread can be freeing this chunk rightfully.
  HEAPLEDGER_POOL_HOT static bool may_return(void* chunk, bool alone, const pool_identity* pool) {
    if constexpr (Layout::has_front_mark) {
      const word expected = used_mark(chunk);
      // Two threads that free one chunk at the same time both see it in use; only one of them changes it.
      const bool good = tool_type::get(front(chunk)) == expected &&
                        (alone || tool_type::change(front(chunk), expected, free_mark(chunk)));
      if (!good || (Layout::has_back_mark && get_back(chunk) != expected)) [[unlikely]] {
        if (!why(chunk, good, pool)) return false;
      }
      if (alone) tool_type::put(front(chunk), free_mark(chunk));
    } else if constexpr (checks::position) {
      if (!is_chunk(chunk)) [[unlikely]]
        return refuse_position(chunk, pool);
    }
    return true;
  }

  // After the header is gone.
  HEAPLEDGER_POOL_HOT static void returned(void* chunk) {
    if constexpr (checks::fill) std::memset(chunk, freed_pattern, Layout::payload_bytes);
  }

  // A chunk comes back that the program did not free: the whole pool is reset.
  static void taken_away(void* chunk) {
    if constexpr (Layout::has_front_mark) tool_type::put(front(chunk), free_mark(chunk));
  }

  static std::span<void* const> stack(void* chunk) {
    if constexpr (requires(const header& h) { std::span<void* const>(h.stack()); }) {
      return Layout::header_of(chunk)->stack();
    } else {
      return {};
    }
  }

 private:
  // A free chunk's header can still be read where nothing destroys it or forbids to touch it.
  static constexpr bool header_outlives_chunk =
      std::is_trivially_destructible_v<header> && Layout::options.tool == memory_tool::none;

  // No byte of either is zero: the byte next to the chunk must differ from a string's end, too.
  static word used_mark(const void* chunk) {
    return reinterpret_cast<std::uintptr_t>(chunk) ^ word { 0xC5'3A'96'E7'5B'1D'A4'6B };
  }
  static word free_mark(const void* chunk) { return ~used_mark(chunk); }
  static word* front(void* chunk) { return reinterpret_cast<word*>(static_cast<char*>(chunk) - mark_bytes); }
  static word get_back(const void* chunk) {
    word value;
    std::memcpy(&value, static_cast<const char*>(chunk) + Layout::payload_bytes, sizeof value);
    return value;
  }
  static void put_back(void* chunk, word value) {
    std::memcpy(static_cast<char*>(chunk) + Layout::payload_bytes, &value, sizeof value);
  }

  static bool still_filled(const link* chunk) {  // but for the link
    const char* const bytes = reinterpret_cast<const char*>(chunk) + sizeof(link);
    constexpr std::size_t rest = Layout::payload_bytes - sizeof(link);
    if constexpr (rest == 0) {
      return true;
    } else if constexpr (rest > 64) {  // all bytes are like their neighbours
      return static_cast<std::uint8_t>(*bytes) == freed_pattern && std::memcmp(bytes, bytes + 1, rest - 1) == 0;
    } else {
      char pattern[rest];
      std::memset(pattern, freed_pattern, rest);
      return std::memcmp(bytes, pattern, rest) == 0;
    }
  }
  static bool is_chunk(const void* pointer) { return Layout::index_of(pointer) < Layout::capacity; }

  HEAPLEDGER_POOL_COLD static bool refuse_owner(const void* chunk, const pool_identity* pool) {
    const pool_identity* const owner = segment_map::find(chunk);
    checks::failed({.kind = owner == nullptr ? violation_kind::foreign_pointer : violation_kind::other_pool,
                    .pointer = chunk,
                    .pool = pool,
                    .owner = owner});
    return false;
  }
  HEAPLEDGER_POOL_COLD static bool refuse_position(const void* pointer, const pool_identity* pool) {
    char* const start = Layout::page_start(pointer);
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - start);
    const std::size_t index = (offset - Layout::first) / Layout::stride;
    const bool inside =
        offset >= Layout::first && index < Layout::capacity && !page_of<Layout>::is_descriptions(pointer);
    checks::failed({.kind = violation_kind::middle_pointer,
                    .pointer = pointer,
                    .pool = pool,
                    .chunk = inside ? Layout::chunk_at(start, index) : nullptr});
    return false;
  }

  // The marks are not what they should be. True when the chunk may be freed all the same.
  HEAPLEDGER_POOL_COLD static bool why(void* chunk, bool front_was_good, const pool_identity* pool) {
    if (!is_chunk(chunk)) return refuse_position(chunk, pool);
    const word used = used_mark(chunk);
    const word in_front = front_was_good ? used : tool_type::get(front(chunk));
    const bool back_is_good = !Layout::has_back_mark || get_back(chunk) == used;
    violation found{.pointer = chunk, .pool = pool};
    if (in_front == free_mark(chunk)) {
      found.kind = violation_kind::double_free;
      if constexpr (header_outlives_chunk) found.allocated_at = stack(chunk);
    } else if (in_front == 0 && (!Layout::has_back_mark || get_back(chunk) == 0)) {
      found.kind = violation_kind::never_allocated;
    } else {
      found.allocated_at = stack(chunk);
      if (!back_is_good) {
        found.kind = violation_kind::overflow;
        checks::failed(found);
        if constexpr (Layout::has_back_mark) put_back(chunk, used);
      }
      if (in_front == used) return true;
      found.kind = violation_kind::underflow;  // and nobody knows whether the chunk is in use: it is left alone
    }
    checks::failed(found);
    return false;
  }
};

}  // namespace heapledger::pool_detail
