// What a pool does for every chunk. Included by pool.hpp.
#pragma once

#include "../pool.hpp"

namespace heapledger {

#define HEAPLEDGER_POOL_TEMPLATE \
  template <std::size_t ChunkSize, class Threading, class Header, class Analyzer, class Checks, pool_options Options>
#define HEAPLEDGER_POOL pool<ChunkSize, Threading, Header, Analyzer, Checks, Options>

HEAPLEDGER_POOL_TEMPLATE
void* HEAPLEDGER_POOL::try_allocate(std::size_t bytes) noexcept {
  if (bytes > ChunkSize) [[unlikely]]
    return nullptr;
  if constexpr (Options.bypass) {
    void* const chunk = bypass_allocate();
    if (chunk == nullptr) return nullptr;
    const std::lock_guard hold(lock_);
    analyzer_.allocated(chunk, bytes, header(chunk));
    return chunk;
  } else {
    const std::lock_guard hold(lock_);
    auto* const mine = threads_.here();
    pool_detail::taken one{mine->pop(), threads_.taker(mine)};
    if (one.chunk == nullptr) [[unlikely]] {
      one = threads_.refill(*this);
      if (one.chunk == nullptr) return nullptr;
    }
    return begin(one.chunk, one.taker, bytes);  // here, whoever asks for the stack: the same frames for every chunk
  }
}

HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::deallocate(void* chunk) noexcept {
  // Where the owner is asked for, null is nobody's, too; unless the compiler sees it.
  constexpr bool knows_null = Checks::ownership && !Options.bypass;
  if ((!knows_null || __builtin_constant_p(chunk == nullptr)) && chunk == nullptr) [[unlikely]]
    return;
  if constexpr (Options.bypass) {
    {
      const std::lock_guard hold(lock_);
      analyzer_.freed(chunk, header(chunk));
    }
    bypass_deallocate(chunk);
  } else {
    if constexpr (moves_chunks) {
      void* const own = analyzer_.chunk_at(chunk);
      if (own == nullptr && chunk != nullptr) [[unlikely]]
        return refuse_place(chunk);
      chunk = own;
    }
    const std::lock_guard hold(lock_);
    auto* const mine = threads_.here();
    if constexpr (Checks::ownership) {
      if (!mine->segment_holds(chunk)) [[unlikely]] {
        if (!watch::is_mine(chunk, &identity_)) return;
      }
    }
    if (!watch::may_return(chunk, threads_.taker(mine), threads_, &identity_)) [[unlikely]]
      return;
    end(chunk);
    threads_.give(static_cast<pool_detail::link*>(chunk), mine, *this);
  }
}

// The chunk becomes the program's.
HEAPLEDGER_POOL_TEMPLATE
void* HEAPLEDGER_POOL::begin(pool_detail::link* chunk, pool_detail::word taker, std::size_t bytes) noexcept {
  if constexpr (Checks::fill && Options.tool != memory_tool::none) {
    tool::allow(chunk, layout::payload_bytes);
    watch::taken(chunk, taker, &identity_);
    tool::forbid(chunk, layout::payload_bytes);
  } else {
    watch::taken(chunk, taker, &identity_);
  }
  tool::allocated(&identity_, chunk, bytes);
  Header* const head = layout::header_of(chunk);
  if constexpr (layout::has_header) {
    tool::allow(head, sizeof(Header));
    ::new (static_cast<void*>(head)) Header;
  }
  analyzer_.allocated(static_cast<void*>(chunk), bytes, head);
  if constexpr (moves_chunks) return analyzer_.place(chunk, bytes, layout::payload_bytes, layout::alignment, head);
  return chunk;
}

// And the pool's again.
HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::end(void* chunk) noexcept {
  Header* const head = layout::header_of(chunk);
  analyzer_.freed(chunk, head);
  if constexpr (layout::has_header) {
    head->~Header();
    if constexpr (layout::header_in_front) tool::forbid(head, sizeof(Header));
  }
  if constexpr (Checks::fill && Options.tool != memory_tool::none) tool::allow(chunk, layout::payload_bytes);
  watch::returned(chunk);
  tool::freed(&identity_, chunk, layout::payload_bytes);
}

HEAPLEDGER_POOL_TEMPLATE
Header* HEAPLEDGER_POOL::header(void* chunk) noexcept {
  if constexpr (Options.bypass && layout::has_header) {
    return reinterpret_cast<Header*>(static_cast<char*>(chunk) -
                                     pool_detail::round_up(sizeof(Header), alignof(std::max_align_t)));
  } else {
    if constexpr (moves_chunks) chunk = Analyzer::any_chunk_at(chunk);
    return layout::header_of(chunk);
  }
}

#undef HEAPLEDGER_POOL_TEMPLATE
#undef HEAPLEDGER_POOL

}  // namespace heapledger
