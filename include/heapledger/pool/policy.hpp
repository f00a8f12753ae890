// What a threading policy, a header and an analyzer must be, and the defaults that are nothing: no byte in the pool, no
// instruction.
//
// An analyzer derives from no_analyzer and hides the events that it wants. Events come from the thread that causes
// them, so an analyzer must be as thread safe as its pool. It must not use the pool, and not throw. With `shared` all
// events come under the pool's lock; with `thread_cached` those of arenas come under a lock of the process, and so do
// those of pages when a thread ends or a pool is trimmed: they may use other pools, but must not wait for what another
// thread holds while it uses pools.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace heapledger {

struct pool_identity;

struct no_header {};
struct no_analyzer;
struct no_checks;

// An analyzer or checks could be made with each chunk, too, and nobody would ask them.
template <class H>
concept pool_header = std::is_object_v<H> && !std::is_array_v<H> && std::is_nothrow_default_constructible_v<H> &&
                      std::is_nothrow_destructible_v<H> && std::same_as<H, std::remove_cv_t<H>> &&
                      !std::is_base_of_v<no_analyzer, H> && !std::is_base_of_v<no_checks, H>;

namespace pool_detail {

template <class L>
concept basic_lock = std::default_initializable<L> && requires(L one) {
  one.lock();
  one.unlock();
};

}  // namespace pool_detail

// Whether events happen at the same time, what is around allocate and free and around the pool's pages, and the arenas
// themselves. Other locks: derive from threading::shared_with; another state takes what pools have for themselves.
template <class T, class Layout>
concept pool_threading =
    pool_detail::basic_lock<typename T::lock_type> && pool_detail::basic_lock<typename T::page_lock_type> && requires {
  requires std::same_as<decltype(T::concurrent), const bool>;
  typename T::template state<Layout>;
};

struct no_analyzer {
  // Before everything else, once: the pool is about to make its first arena. Not with `bypass`.
  static constexpr void opened(const pool_identity& /*pool*/) noexcept {}
  // A chunk came, or is about to go. `bytes` is what was asked for; `header` is null where the pool has none.
  static constexpr void allocated(void* /*chunk*/, std::size_t /*bytes*/, auto* /*header*/) noexcept {}
  static constexpr void freed(void* /*chunk*/, auto* /*header*/) noexcept {}
  // In use when the pool was destroyed.
  static constexpr void leaked(void* /*chunk*/, auto* /*header*/) noexcept {}
  // An arena is stale when its thread has ended, until another thread takes it over.
  static constexpr void arena_created(const void* /*arena*/) noexcept {}
  static constexpr void arena_stale(const void* /*arena*/) noexcept {}
  static constexpr void arena_reused(const void* /*arena*/) noexcept {}
  static constexpr void arena_destroyed(const void* /*arena*/) noexcept {}
  // A page came from the system to an arena, or went back.
  static constexpr void page_allocated(void* /*page*/, std::size_t /*bytes*/) noexcept {}
  static constexpr void page_freed(void* /*page*/, std::size_t /*bytes*/) noexcept {}
};

template <class A, class Header = no_header>
concept pool_analyzer = std::default_initializable<A> &&
    requires(A a, void* chunk, Header* header, std::size_t bytes, const pool_identity& identity) {
  a.opened(identity);
  a.allocated(chunk, bytes, header);
  a.freed(chunk, header);
  a.leaked(chunk, header);
  a.arena_created(chunk);
  a.arena_stale(chunk);
  a.arena_reused(chunk);
  a.arena_destroyed(chunk);
  a.page_allocated(chunk, bytes);
  a.page_freed(chunk, bytes);
};

namespace pool_detail {

// Whether an analyzer may have the program use another place than the chunk, as publish.hpp does.
template <class Analyzer, class Header>
inline constexpr bool moves = false;
template <class Analyzer, class Header>
requires(Analyzer::template moves<Header>) inline constexpr bool moves<Analyzer, Header> = true;

}  // namespace pool_detail
}  // namespace heapledger
