// What a check has found, and who is told. The handler of the process is called before the pool has changed anything.
// If it returns, the program goes on, and the bad free is left out; but after an overflow the chunk is freed all the
// same, and one that was written while it was free is handed out. The default one prints and aborts. A handler must not
// throw, and not use the pool: with `shared` it is called under the pool's lock, with `thread_cached` at times under
// the lock that events of arenas come under (policy.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "attributes.hpp"

namespace heapledger {

enum class violation_kind : std::uint8_t {
  double_free,
  never_allocated,
  foreign_pointer,
  other_pool,
  middle_pointer,
  underflow,
  overflow,
  written_after_free,
  leak,
};

// Which pool. Its address is the pool's identity.
struct pool_identity {
  const char* name = nullptr;
  std::size_t chunk_bytes = 0;
};

struct violation {
  violation_kind kind{};
  const void* pointer = nullptr;          // as the program gave it; the chunk's in all kinds below middle_pointer
  const pool_identity* pool = nullptr;    // the one that noticed
  const pool_identity* owner = nullptr;   // other_pool: whose it is
  const void* chunk = nullptr;            // middle_pointer: the chunk that it lies in or behind, or null
  std::span<void* const> allocated_at{};  // return addresses, where the header keeps them
  std::size_t leaks = 0;                  // leak: how many chunks were in use,
  std::size_t leaks_before = 0;           // and how many of them were told of before this one
};

using violation_handler = void (*)(const violation&);

inline const char* describe(violation_kind kind) noexcept {
  switch (kind) {
    case violation_kind::double_free:
      return "double free";
    case violation_kind::never_allocated:
      return "free of a chunk that was never allocated, or whose page is gone";
    case violation_kind::foreign_pointer:
      return "free of a pointer that belongs to no pool";
    case violation_kind::other_pool:
      return "free of a pointer that belongs to another pool";
    case violation_kind::middle_pointer:
      return "free of a pointer that is no start of a chunk";
    case violation_kind::underflow:
      return "write in front of a chunk";
    case violation_kind::overflow:
      return "write past the end of a chunk";
    case violation_kind::written_after_free:
      return "write into a free chunk";
    case violation_kind::leak:
      return "chunk in use when its pool was destroyed";
  }
  return "?";
}

namespace pool_detail {

HEAPLEDGER_POOL_COLD inline void print(const pool_identity& pool) {
  if (pool.name != nullptr) {
    std::fprintf(stderr, "pool '%s' of %zu-byte chunks", pool.name, pool.chunk_bytes);
  } else {
    std::fprintf(stderr, "pool %p of %zu-byte chunks", static_cast<const void*>(&pool), pool.chunk_bytes);
  }
}

}  // namespace pool_detail

HEAPLEDGER_POOL_COLD inline void print(const violation& found) {
  std::fprintf(stderr, "heapledger: ");
  pool_detail::print(*found.pool);
  std::fprintf(stderr, ": %s, at %p", describe(found.kind), found.pointer);
  if (found.owner != nullptr) {
    std::fprintf(stderr, ", which is of ");
    pool_detail::print(*found.owner);
  }
  if (found.chunk != nullptr) {
    const auto distance = static_cast<const char*>(found.pointer) - static_cast<const char*>(found.chunk);
    const auto chunk_bytes = static_cast<std::ptrdiff_t>(found.pool->chunk_bytes);
    if (distance < chunk_bytes) {
      std::fprintf(stderr, ", %td bytes into the chunk at %p", distance, found.chunk);
    } else {
      std::fprintf(stderr, ", %td bytes behind the end of the chunk at %p", distance - chunk_bytes, found.chunk);
    }
  }
  std::fputc('\n', stderr);
  for (void* const address : found.allocated_at) std::fprintf(stderr, "  allocated at %p\n", address);
}

namespace pool_detail {

// A pool that lives as long as the program may end with a million chunks in use.
inline constexpr std::size_t most_leaks_named = 10;

HEAPLEDGER_POOL_COLD inline void print_leak(const violation& found) {
  if (found.leaks_before < most_leaks_named) return heapledger::print(found);
  if (found.leaks_before > most_leaks_named) return;
  std::fprintf(stderr, "heapledger: ");
  print(*found.pool);
  std::fprintf(stderr, ": %zu chunks were in use when it was destroyed; no more of them are named\n", found.leaks);
}

}  // namespace pool_detail

HEAPLEDGER_POOL_COLD inline void print_and_abort(const violation& found) {
  if (found.kind == violation_kind::leak) return pool_detail::print_leak(found);
  print(found);
  std::abort();
}

namespace pool_detail {
HEAPLEDGER_POOL_ONE inline constinit std::atomic<violation_handler> the_violation_handler{&print_and_abort};
}

// The previous one. Null stands for the default: print, and abort unless it is a leak; of leaks, the first of a pool.
inline violation_handler set_violation_handler(violation_handler handler) noexcept {
  return pool_detail::the_violation_handler.exchange(handler == nullptr ? &print_and_abort : handler);
}

}  // namespace heapledger
