// The checks themselves: what is written beside and into chunks, and what is looked at when one comes back.
//
// A mark is a word next to a chunk that holds the chunk's address plus a constant. The one in front says whether the
// chunk is in use, and who took it, so that one comparison answers several questions at once: a pointer into the middle
// of a chunk, a chunk that is free, a write in front of it, each leaves another word there. Only when it differs is it
// asked why, off the fast path. Measured: a second mark that changes, behind the chunk, took a fifth of the pair of
// allocate and free; so that one is constant.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "page.hpp"
#include "pattern.hpp"
#include "segment_map.hpp"
#include "violation.hpp"

namespace heapledger::pool_detail {

// The first of the numbers that tell apart who takes chunks of a pool, and how many there can be.
inline constexpr word first_taker = word{1} << 48;
inline constexpr word most_takers = 8191;

inline constexpr word free_mark = 0xFF'FF'FF'FF'A4'E2'5B'95;  // an immediate operand

template <class Layout>
struct watch {
  using checks = typename Layout::checks;
  using header = typename Layout::header_type;
  using tool_type = typename Layout::tool_type;
  using filling = pattern<Layout::payload_bytes>;
  static_assert(checks::ownership || !(checks::position || checks::double_free),
                "where a chunk begins can only be asked of a pointer that is known to be the pool's");

  // When a chunk is carved out of its page. A pointer may be left from the time before the page was given back.
  static void prepare(link* chunk, [[maybe_unused]] const pool_identity* pool) {
    if constexpr (checks::fill) {
      tool_type::allow(chunk, Layout::payload_bytes);
      if (!filling::is_whole_or_zero(chunk)) [[unlikely]]
        report_write(chunk, pool);
      filling::fill(chunk);
      tool_type::forbid(chunk, Layout::payload_bytes);
    }
    if constexpr (Layout::has_front_mark) tool_type::put(front(chunk), free_mark);
    if constexpr (Layout::has_back_mark && !(checks::fill && Layout::loses_back_mark))
      put_back(chunk, back_mark(chunk));
  }

  // When the program gets it.
  HEAPLEDGER_POOL_HOT static void taken(link* chunk, word taker, const pool_identity* pool) {
    if constexpr (Layout::has_front_mark) tool_type::put(front(chunk), used_mark(chunk, taker));
    if constexpr (checks::fill) {
      if (!filling::is_whole(chunk)) [[unlikely]] {
        report_write(chunk, pool);
        filling::fill(chunk);
      }
    }
    if constexpr (Layout::loses_back_mark) put_back(chunk, back_mark(chunk));
  }

  // When a free one will not be handed out any more.
  static void left(link* chunk, const pool_identity* pool) requires(checks::fill) {
    tool_type::allow(chunk, Layout::payload_bytes);
    if (!filling::is_whole(chunk)) [[unlikely]]
      report_write(chunk, pool);
    tool_type::forbid(chunk, Layout::payload_bytes);
  }

  // When it comes back: may it? Nothing of the pool has been changed when the answer is no.
  // Is it in a page of this pool? Not asked of what is in the segment of the arena's current page.
  HEAPLEDGER_POOL_COLD static bool is_mine(const void* chunk, const pool_identity* pool) {
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
  // `giver`: who frees it. What somebody else took may be freed by a third one at the same time.
  template <class Threads>
  HEAPLEDGER_POOL_HOT static bool may_return(void* chunk, word giver, const Threads& threads,
                                             const pool_identity* pool) {
    if constexpr (Layout::has_front_mark) {
      if (tool_type::get(front(chunk)) != used_mark(chunk, giver)) [[unlikely]]
        return may_return_of_other(chunk, threads.takers(), pool);
      if (Layout::has_back_mark && get_back(chunk) != back_mark(chunk)) [[unlikely]]
        report_overflow(chunk, pool);
      tool_type::put(front(chunk), free_mark);
    } else if constexpr (checks::position) {
      if (!is_chunk(chunk)) [[unlikely]]
        return refuse_position(chunk, pool);
    }
    return true;
  }

  // After the header is gone.
  HEAPLEDGER_POOL_HOT static void returned(void* chunk) {
    if constexpr (checks::fill) filling::fill(chunk);
  }

  // A chunk comes back that the program did not free: the whole pool is reset.
  static void taken_away(void* chunk) {
    if constexpr (Layout::has_front_mark) tool_type::put(front(chunk), free_mark);
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

  // Sums, not masks: one instruction for an address and a constant. The bytes next to the chunk, the lowest and the
  // highest, are never zero: they must differ from a string's end. Who took the chunk is above the bits of an address.
  static word used_mark(const void* chunk, word taker) { return back_mark(chunk) + taker; }
  static word back_mark(const void* chunk) {
    return reinterpret_cast<std::uintptr_t>(chunk) + word{0xC5'3A'96'E7'5B'1D'A4'6B};
  }
  static bool is_used_mark(word mark, const void* chunk, word takers) {
    const word taker = mark - back_mark(chunk);
    return taker % first_taker == 0 && taker / first_taker <= takers;
  }
  static word* front(void* chunk) { return reinterpret_cast<word*>(static_cast<char*>(chunk) - mark_bytes); }
  static word get_back(const void* chunk) {
    word value;
    std::memcpy(&value, static_cast<const char*>(chunk) + Layout::back_mark_at, sizeof value);
    return value;
  }
  static void put_back(void* chunk, word value) {
    std::memcpy(static_cast<char*>(chunk) + Layout::back_mark_at, &value, sizeof value);
  }

  static bool is_chunk(const void* pointer) { return Layout::index_of(pointer) < Layout::capacity; }

  HEAPLEDGER_POOL_COLD static void report_write(const void* chunk, const pool_identity* pool) {
    checks::failed({.kind = violation_kind::written_after_free, .pointer = chunk, .pool = pool});
  }
  HEAPLEDGER_POOL_COLD static bool refuse_owner(const void* chunk, const pool_identity* pool) {
    if (chunk == nullptr) return false;
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
    const std::size_t index = Layout::index_around(offset);
    const bool inside =
        offset >= Layout::first && index < Layout::capacity && !page_of<Layout>::is_descriptions(pointer);
    checks::failed({.kind = violation_kind::middle_pointer,
                    .pointer = pointer,
                    .pool = pool,
                    .chunk = inside ? Layout::chunk_at(start, index) : nullptr});
    return false;
  }

  // Two threads that free one chunk at the same time both see it in use; only one of them changes it. (Unless one of
  // them took it: that one does not ask.)
  HEAPLEDGER_POOL_COLD static bool may_return_of_other(void* chunk, word takers, const pool_identity* pool) {
    const word there = tool_type::get(front(chunk));
    if (!is_chunk(chunk) || !is_used_mark(there, chunk, takers)) return refuse_mark(chunk, there, pool);
    if (!tool_type::change(front(chunk), there, free_mark)) return refuse_mark(chunk, free_mark, pool);
    if (Layout::has_back_mark && get_back(chunk) != back_mark(chunk)) report_overflow(chunk, pool);
    return true;
  }
  // And the chunk may be freed all the same.
  HEAPLEDGER_POOL_COLD static void report_overflow(void* chunk, const pool_identity* pool) {
    checks::failed({.kind = violation_kind::overflow, .pointer = chunk, .pool = pool, .allocated_at = stack(chunk)});
    if constexpr (Layout::has_back_mark) put_back(chunk, back_mark(chunk));
  }
  HEAPLEDGER_POOL_COLD static bool refuse_mark(void* chunk, word in_front, const pool_identity* pool) {
    if (!is_chunk(chunk)) return refuse_position(chunk, pool);
    violation found{.pointer = chunk, .pool = pool};
    if (in_front == free_mark) {
      found.kind = violation_kind::double_free;
      if constexpr (header_outlives_chunk) found.allocated_at = stack(chunk);
    } else if (in_front == 0 && (!Layout::has_back_mark || get_back(chunk) == 0)) {
      found.kind = violation_kind::never_allocated;
    } else {
      found.allocated_at = stack(chunk);
      if (Layout::has_back_mark && get_back(chunk) != back_mark(chunk)) report_overflow(chunk, pool);
      found.kind = violation_kind::underflow;  // and nobody knows whether the chunk is in use: it is left alone
    }
    checks::failed(found);
    return false;
  }
};

}  // namespace heapledger::pool_detail
