// The geometry of a pool, at compile time.
//
//   segment   64 page slots, aligned to its size. Slot 0 holds the descriptions of the others, 64 bytes each:
//             so they do not all fall into the same sets of the cache, and a page can be all chunks.
//   page      [headers, if beside] [links] [red zone] chunk chunk chunk ... [gap] chunk chunk chunk ...
//   chunk     [header, if in front] [mark or red zone] payload [mark or red zone]; a pointer to a chunk is one to its
//   payload
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "attributes.hpp"
#include "options.hpp"
#include "tool.hpp"

namespace heapledger::pool_detail {

constexpr std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

inline constexpr std::size_t mark_bytes = 8;
inline constexpr std::size_t most_alignment = 4096;
inline constexpr std::size_t slots_per_segment = 64;
inline constexpr std::size_t slot_bytes = 64;  // of a page's description
inline constexpr std::size_t smallest_page_bytes = std::size_t{64} << 10;
inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t cache_way_bytes = 4096;  // lines that far apart share a set of the first-level cache

template <std::size_t ChunkBytes, class Header, class Checks, pool_options Options>
struct layout {
  static_assert(ChunkBytes > 0 && ChunkBytes <= (std::size_t{64} << 10), "a pool is for chunks of 1 byte to 64 KiB");
  static_assert(Options.alignment == 0 ||
                    (std::has_single_bit(Options.alignment) && Options.alignment <= most_alignment),
                "an alignment is a power of two, and at most 4096");
  static_assert(Options.page_bytes == 0 ||
                    (std::has_single_bit(Options.page_bytes) && Options.page_bytes >= smallest_page_bytes),
                "page_bytes is a power of two, and at least 64 KiB");

  static_assert(is_there(Options.tool),
                "this unit is compiled without the tool: -fsanitize=address, or -DHEAPLEDGER_POOL_VALGRIND");

  using header_type = Header;
  using checks = Checks;
  using tool_type = tool<Options.tool>;
  static constexpr pool_options options = Options;

  // An empty one may still want to be made and destroyed.
  static constexpr bool has_header = !std::is_empty_v<Header> || !std::is_trivially_default_constructible_v<Header> ||
                                     !std::is_trivially_destructible_v<Header>;
  static constexpr bool header_in_front = has_header && Options.header == header_place::front;
  static constexpr bool header_beside = has_header && !header_in_front;
  // A tool that watches every access sees more than a canary does.
  static constexpr bool has_canary = Checks::canary && Options.tool == memory_tool::none;
  static constexpr bool has_front_mark = Checks::double_free || has_canary;
  static constexpr bool has_back_mark = has_canary;
  // A free chunk's link is in it, unless that would be a write into a free chunk: see links.hpp.
  static constexpr bool has_link_table = Checks::fill;

  static constexpr std::size_t payload_bytes = std::max(ChunkBytes, sizeof(link));
  static constexpr std::size_t alignment = std::max({alignof(link),
                                                     Options.alignment != 0 ? Options.alignment
                                                     : ChunkBytes % 16 == 0 ? 16
                                                                            : 8,
                                                     header_in_front ? alignof(Header) : 1});
  // A header is the program's, too: where no mark is between, a red zone is.
  static constexpr std::size_t front_bytes = has_front_mark    ? mark_bytes
                                             : header_in_front ? tool_type::red_zone_bytes
                                                               : 0;
  static constexpr std::size_t before_bytes =
      header_in_front ? round_up(sizeof(Header) + front_bytes, std::max(alignof(Header), alignof(link))) : front_bytes;
  static constexpr std::size_t back_mark_at = ChunkBytes;
  // Where the link of a free chunk, or its filling, lies over it.
  static constexpr bool loses_back_mark = has_back_mark && back_mark_at < sizeof(link);
  static constexpr std::size_t after_bytes = has_back_mark ? mark_bytes : tool_type::red_zone_bytes;
  static constexpr std::size_t stride = round_up(before_bytes + payload_bytes + after_bytes, alignment);

  static constexpr std::size_t headers_of(std::size_t chunks) {
    return header_beside ? round_up(chunks * sizeof(Header), alignof(link)) : 0;
  }
  static constexpr std::size_t first_offset(std::size_t chunks) {
    return round_up(
        headers_of(chunks) + (has_link_table ? chunks * sizeof(link) : 0) + tool_type::red_zone_bytes + before_bytes,
        alignment);
  }
  // Marks and red zones come and go with how a unit is compiled: a page that has no room for them is larger.
  static constexpr std::size_t page_bytes =
      std::max(Options.page_bytes != 0 ? Options.page_bytes : std::max(smallest_page_bytes, std::bit_ceil(16 * stride)),
               std::bit_ceil(first_offset(1) + payload_bytes + after_bytes));
  static constexpr std::size_t segment_bytes = slots_per_segment * page_bytes;

  static constexpr std::size_t chunks_that_fit(std::size_t run_length) {
    std::size_t chunks = page_bytes / stride;
    while (first_offset(chunks) + (chunks - 1) * stride + (chunks - 1) / run_length * gap_bytes + payload_bytes +
               after_bytes >
           page_bytes)
      --chunks;
    return chunks;
  }
  // The beginnings of chunks 256 or 512 bytes apart fall into a quarter or an eighth of the sets of the first-level
  // cache, and what a program uses most is at the beginning: a pair took 2.3 ns at 512 bytes, 1.2 at 528. Gaps of a
  // line spread them over all sets, a run of chunks each: slab colouring (Bonwick, 1994), within the page. Not where
  // they would take more than one chunk of a hundred.
  static constexpr std::size_t gap_bytes = cache_line_bytes;
  static constexpr std::size_t chunks_without_gaps = chunks_that_fit(page_bytes);
  static constexpr std::size_t chunks_in_run() {
    const std::size_t apart = std::min(std::size_t{1} << std::countr_zero(stride), cache_way_bytes);
    if (apart < 4 * cache_line_bytes || alignment > gap_bytes) return page_bytes;
    const std::size_t runs = std::max(apart / cache_line_bytes, std::size_t{1});  // clang sees it before the return
    const std::size_t run_length = (chunks_without_gaps + runs - 1) / runs;
    return 100 * chunks_that_fit(run_length) >= 99 * chunks_without_gaps ? run_length : page_bytes;
  }
  static constexpr std::size_t in_run = chunks_in_run();
  static constexpr bool has_gaps = in_run != page_bytes;
  static constexpr std::size_t run_bytes = in_run * stride + (has_gaps ? gap_bytes : 0);

  static_assert(!header_beside || alignof(Header) <= 4096);
  static constexpr std::uint32_t capacity = chunks_that_fit(in_run);
  static_assert(capacity >= 1);
  static constexpr std::size_t first = first_offset(capacity);
  static constexpr std::size_t header_table_bytes = headers_of(capacity);

  HEAPLEDGER_POOL_HOT static char* page_start(const void* chunk) {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(chunk) & ~(page_bytes - 1));
  }
  HEAPLEDGER_POOL_HOT static link* chunk_at(char* page, std::size_t index) {
    return reinterpret_cast<link*>(page + first + index * stride + (has_gaps ? index / in_run * gap_bytes : 0));
  }
  // The chunk that a byte of its page lies in or behind, by index.
  static std::size_t index_around(std::size_t offset) {
    const std::size_t in_chunks = offset - first;
    return in_chunks / run_bytes * in_run + std::min(in_chunks % run_bytes / stride, in_run - 1);
  }

  // The index of a chunk in its page; not below `capacity` for a pointer that is none. Division by multiplication with
  // the inverse: only multiples of the stride have a quotient that is small.
  HEAPLEDGER_POOL_HOT static std::uint32_t index_of(const void* chunk) {
    constexpr int shift = std::countr_zero(stride);
    constexpr auto odd = static_cast<std::uint32_t>(stride >> shift);
    const auto in_page = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(chunk) & (page_bytes - 1));
    const std::uint32_t offset = in_page - static_cast<std::uint32_t>(first);
    if constexpr (has_gaps) {
      constexpr auto a_run = static_cast<std::uint32_t>(run_bytes);
      const std::uint32_t index = std::rotr(offset % a_run * inverse(odd), shift);
      const std::uint32_t before = offset / a_run * static_cast<std::uint32_t>(in_run);
      return index < in_run ? before + index : capacity;
    } else {
      return std::rotr(offset * inverse(odd), shift);
    }
  }
  // Of an odd number, modulo 2^32.
  static constexpr std::uint32_t inverse(std::uint32_t odd) {
    std::uint32_t result = odd;
    for (int i = 0; i < 4; ++i) result *= 2 - odd * result;
    return result;
  }

  HEAPLEDGER_POOL_HOT static Header* header_of(void* chunk) {
    if constexpr (header_in_front) {
      return reinterpret_cast<Header*>(static_cast<char*>(chunk) - before_bytes);
    } else if constexpr (header_beside) {
      return reinterpret_cast<Header*>(page_start(chunk)) + index_of(chunk);
    } else {
      return nullptr;
    }
  }
};

}  // namespace heapledger::pool_detail
