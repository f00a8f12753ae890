// What a pool does for pages, for all chunks together, and when it ends. Included by pool.hpp.
#pragma once

#include "../pool.hpp"

namespace heapledger {

#define HEAPLEDGER_POOL_TEMPLATE \
  template <std::size_t ChunkSize, class Threading, class Header, class Analyzer, class Checks, pool_options Options>
#define HEAPLEDGER_POOL pool<ChunkSize, Threading, Header, Analyzer, Checks, Options>

HEAPLEDGER_POOL_TEMPLATE
HEAPLEDGER_POOL::~pool() {
  if constexpr (Options.bypass) return;
  if constexpr (requires { threads_.leave_threads(); }) threads_.leave_threads();
  if constexpr (Checks::fill) {
    threads_.settle(*this);
    store_.for_each([this](pool_detail::page* one) {
      page_chunks::for_each_free(one, [this](pool_detail::link* chunk) { watch::left(chunk, &identity_); });
    });
  }
  if constexpr (walks_at_end) {
    [[maybe_unused]] std::size_t leaks = 0, told = 0;
    if constexpr (Checks::leaks) for_each_chunk([&](void*) { ++leaks; });
    for_each_chunk([&](void* chunk) {
      Header* const head = layout::header_of(chunk);
      analyzer_.leaked(chunk, head);
      if constexpr (Checks::leaks) {
        Checks::failed({.kind = violation_kind::leak,
                        .pointer = chunk,
                        .pool = &identity_,
                        .allocated_at = watch::stack(chunk),
                        .leaks = leaks,
                        .leaks_before = told++});
      }
      if constexpr (layout::has_header) head->~Header();
    });
  }
  if constexpr (!std::same_as<Analyzer, no_analyzer>) {
    store_.for_each([this](pool_detail::page* one) {
      analyzer_.page_freed(pool_detail::page_of<layout>::memory(one), page_bytes);
    });
    threads_.for_each_arena([this](arena& one) { analyzer_.arena_destroyed(&one); });
  }
  if (store_.was_used()) tool::close_pool(&identity_);
}

HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::trim() noexcept {
  const std::lock_guard hold(lock_);
  threads_.trim(*this);
}

HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::reset() noexcept requires(!Options.bypass) {
  const std::lock_guard hold(lock_);
  threads_.settle(*this);
  if constexpr (walks_at_end || layout::has_front_mark || Checks::fill || Options.tool != memory_tool::none) {
    for_each_chunk([this](void* chunk) {
      end(chunk);
      watch::taken_away(chunk);
    });
  }
  threads_.for_each_arena([](arena& one) { one.forget_lists(); });
  store_.for_each(
      [](pool_detail::page* one) { static_cast<arena*>(pool_detail::page_of<layout>::owner(one))->make_empty(one); });
}

HEAPLEDGER_POOL_TEMPLATE
template <class F>
void HEAPLEDGER_POOL::for_each_in_use(F&& call) requires(!Options.bypass) {
  if constexpr (moves_chunks)
    for_each_chunk([&](void* chunk) { call(Analyzer::place_of(chunk, layout::header_of(chunk))); });
  else
    for_each_chunk(call);
}

HEAPLEDGER_POOL_TEMPLATE
template <class F>
void HEAPLEDGER_POOL::for_each_chunk(F&& call) {
  threads_.settle(*this);
  store_.for_each([&](pool_detail::page* one) { page_chunks::for_each_in_use(one, call); });
}

HEAPLEDGER_POOL_TEMPLATE
std::size_t HEAPLEDGER_POOL::chunks_in_use() noexcept requires(!Options.bypass) {
  threads_.settle(*this);
  std::size_t count = 0;
  store_.for_each([&](pool_detail::page* one) { count += page_chunks::in_use(one); });
  return count;
}

HEAPLEDGER_POOL_TEMPLATE
std::size_t HEAPLEDGER_POOL::pages() noexcept {
  std::size_t count = 0;
  store_.for_each([&](pool_detail::page*) { ++count; });
  return count;
}

HEAPLEDGER_POOL_TEMPLATE
pool_detail::page* HEAPLEDGER_POOL::take_page(arena* of) noexcept {
  pool_detail::page* one;
  {
    const std::lock_guard hold(page_lock_);
    one = store_.take(of, &identity_);
  }
  if (one != nullptr) analyzer_.page_allocated(pool_detail::page_of<layout>::memory(one), page_bytes);
  return one;
}

HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::give_back_page(pool_detail::page* one) noexcept {
  analyzer_.page_freed(pool_detail::page_of<layout>::memory(one), page_bytes);
  const std::lock_guard hold(page_lock_);
  store_.give_back(one);
}

HEAPLEDGER_POOL_TEMPLATE
void* HEAPLEDGER_POOL::bypass_allocate() noexcept requires(Options.bypass) {
  constexpr std::size_t alignment = bypass_alignment;
  constexpr std::size_t before = layout::has_header ? pool_detail::round_up(sizeof(Header), alignment) : 0;
  void* const block = alignment > alignof(std::max_align_t)
                          ? std::aligned_alloc(alignment, pool_detail::round_up(before + ChunkSize, alignment))
                          : std::malloc(before + ChunkSize);
  if (block == nullptr) return nullptr;
  void* const chunk = static_cast<char*>(block) + before;
  if constexpr (layout::has_header) ::new (static_cast<void*>(header(chunk))) Header;
  return chunk;
}

HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::bypass_deallocate(void* chunk) noexcept requires(Options.bypass) {
  constexpr std::size_t before = layout::has_header ? pool_detail::round_up(sizeof(Header), bypass_alignment) : 0;
  if constexpr (layout::has_header) header(chunk)->~Header();
  std::free(static_cast<char*>(chunk) - before);
}

// Given back twice, or never given out: the place was a watched chunk's, and is nobody's now.
HEAPLEDGER_POOL_TEMPLATE
void HEAPLEDGER_POOL::refuse_place([[maybe_unused]] void* given) const noexcept {
  if constexpr (Checks::double_free)
    Checks::failed({.kind = violation_kind::double_free, .pointer = given, .pool = &identity_});
}

#undef HEAPLEDGER_POOL_TEMPLATE
#undef HEAPLEDGER_POOL

}  // namespace heapledger
