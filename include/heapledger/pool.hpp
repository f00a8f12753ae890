// A pool of chunks of one size, whose inside can be seen.
//
//   heapledger::pool<48> pool;                                        // one thread
//   heapledger::pool<48, heapledger::threading::thread_cached> pool;  // any thread
//   void* chunk = pool.allocate();
//   pool.deallocate(chunk);
//
// What the pool does beyond that is said by policies; an empty one costs nothing. docs/pools.md helps to choose.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "pool/arena.hpp"
#include "pool/attributes.hpp"
#include "pool/checks.hpp"
#include "pool/errors.hpp"
#include "pool/layout.hpp"
#include "pool/options.hpp"
#include "pool/page_chunks.hpp"
#include "pool/page_store.hpp"
#include "pool/policy.hpp"
#include "pool/shared.hpp"
#include "pool/single.hpp"
#include "pool/thread_cached.hpp"
#include "pool/violation.hpp"
#include "pool/watch.hpp"

namespace heapledger {

template <std::size_t ChunkSize, class Threading = threading::single, class Header = no_header,
          class Analyzer = no_analyzer, class Checks = default_checks, pool_options Options = pool_options{}>
class pool {
  static_assert(pool_header<Header>,
                "a header is an object type that is made and destroyed without exceptions, no analyzer and no checks");
  static_assert(pool_analyzer<Analyzer, Header>, "an analyzer derives from no_analyzer and hides what it wants");
  static_assert(pool_checks<Checks>, "checks derive from no_checks, exact_checks or all_checks");

 public:
  using layout = pool_detail::layout<ChunkSize, Header, Checks, Options>;
  static_assert(pool_threading<Threading, layout>, "threading is one of threading::, or shared_with a lock");
  using threading_type = Threading;
  using header_type = Header;
  using analyzer_type = Analyzer;
  static constexpr std::size_t chunk_bytes = ChunkSize;
  static constexpr std::size_t page_bytes = layout::page_bytes;
  static constexpr std::size_t chunks_per_page = layout::capacity;

  constexpr pool() = default;
  explicit constexpr pool(const char* name) : identity_{name, ChunkSize} {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool();

  // Any size up to the chunk's; what is asked for is what analyzers and memory tools see. Throws std::bad_alloc,
  // also from units without exceptions: where nobody catches it the program ends.
  HEAPLEDGER_POOL_HOT void* allocate(std::size_t bytes = ChunkSize) {
    void* const chunk = try_allocate(bytes);
    if (chunk == nullptr) [[unlikely]]
      pool_detail::throw_bad_alloc();
    return chunk;
  }
  // Null instead of an exception, also for more bytes than a chunk has.
  HEAPLEDGER_POOL_HOT void* try_allocate(std::size_t bytes = ChunkSize) noexcept;
  // Null is allowed.
  HEAPLEDGER_POOL_HOT void deallocate(void* chunk) noexcept;

  // Is it in the pool's memory? For any pointer, in constant time.
  bool owns(const void* pointer) const noexcept requires(!Options.bypass) {
    if constexpr (moves_chunks) pointer = analyzer_.chunk_at(const_cast<void*>(pointer));
    return pool_detail::segment_map::find(pointer) == &identity_;
  }
  static Header* header(void* chunk) noexcept;

  Analyzer& analyzer() noexcept { return analyzer_; }
  const Analyzer& analyzer() const noexcept { return analyzer_; }
  const pool_identity& identity() const noexcept { return identity_; }

  // Gives every empty page back to the system; with thread_cached those of this thread and of threads that have ended.
  void trim() noexcept;

  // These ask for a pool that no other thread uses at the time, and take as long as there are chunks and pages.
  //
  // Frees all chunks at once. Headers are destroyed, objects in chunks are not; pages stay until trim().
  void reset() noexcept requires(!Options.bypass);
  // call(void* chunk). What is at hand goes to its page first, here and in chunks_in_use(), so that empty pages may go
  // back to the system.
  template <class F>
  void for_each_in_use(F&& call) requires(!Options.bypass);
  std::size_t chunks_in_use() noexcept requires(!Options.bypass);
  std::size_t pages() noexcept;  // that are not given back

  // For the threading policies.
  pool_detail::page* take_page(pool_detail::arena<layout>* arena) noexcept;
  void give_back_page(pool_detail::page* one) noexcept;
  auto& threads() noexcept { return threads_; }

 private:
  using watch = pool_detail::watch<layout>;
  using tool = typename layout::tool_type;
  using lock = typename Threading::lock_type;
  using page_lock = typename Threading::page_lock_type;
  using arena = pool_detail::arena<layout>;
  using page_chunks = pool_detail::page_chunks<layout>;

  // The analyzer may give the program another place than the chunk (publish.hpp).
  static constexpr bool moves_chunks =
      pool_detail::moves<Analyzer, Header> && !Options.bypass && Options.tool == memory_tool::none;

  HEAPLEDGER_POOL_HOT void* begin(pool_detail::link* chunk, pool_detail::word taker, std::size_t bytes) noexcept;
  HEAPLEDGER_POOL_HOT void end(void* chunk) noexcept;
  static constexpr std::size_t bypass_alignment =
      std::max({layout::alignment, alignof(std::max_align_t), layout::has_header ? alignof(Header) : 1});
  static void* bypass_allocate() noexcept requires(Options.bypass);
  static void bypass_deallocate(void* chunk) noexcept requires(Options.bypass);
  HEAPLEDGER_POOL_COLD void refuse_place(void* given) const noexcept;
  template <class F>
  void for_each_chunk(F&& call);  // the pool's own, wherever the program has them

  static constexpr bool walks_at_end =
      Checks::leaks || !std::is_trivially_destructible_v<Header> || !std::same_as<Analyzer, no_analyzer>;

  pool_identity identity_{nullptr, ChunkSize};
  typename Threading::template state<layout> threads_;
  pool_detail::page_store<layout> store_;
  [[no_unique_address]] lock lock_;
  [[no_unique_address]] page_lock page_lock_;
  [[no_unique_address]] Analyzer analyzer_;
};

}  // namespace heapledger

#include "pool/pool_fast.hpp"
#include "pool/pool_slow.hpp"
