#include "probe/pool/pools.hpp"

#include <sys/mman.h>

#include "probe/account/books.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/pool/sites.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

constexpr int mremap_may_move = 1, mremap_fixed = 2;

// What a child needs to tell of the pools that it inherits: its own segment knows no name yet.
struct kind_record {
  char name[56];
  std::uint64_t chunk_bytes;
};
constexpr std::size_t longest_name_bytes = sizeof kind_record::name - 1;

constinit std::uint32_t pools_lock = 0;
constinit kind_record* kinds = nullptr;  // as many as the segment has room for
constinit std::uint32_t kind_limit = 0;
constinit std::uint32_t kind_count = 1;
constinit wire::pool* pools = nullptr;  // the mapping that never moves
constinit std::uint32_t pool_limit = 0;
constinit std::uint32_t pool_count = 0;

std::size_t mapped_bytes() {
  return (pool_limit * sizeof(wire::pool) + 4095) & ~std::size_t{4095};
}

// A second look at the same pages of the segment: at `at`, or anywhere.
wire::pool* map_again(void* at) {
  const long result = sys::call(__NR_mremap, sys::word(segment.pools.data), 0, mapped_bytes(),
                                at == nullptr ? mremap_may_move : mremap_may_move | mremap_fixed, sys::word(at));
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<wire::pool*>(result);
}

bool map_private(void* at) {
  const long result =
      sys::call(__NR_mmap, sys::word(at), mapped_bytes(), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, static_cast<std::uint64_t>(-1));
  return result >= 0 || result <= -4096;
}

bool prepare() {
  if (pools != nullptr) return true;
  pool_limit = segment.pools.capacity;
  kind_limit = segment.pool_kinds.capacity;
  if (kinds == nullptr) kinds = static_cast<kind_record*>(own_map(kind_limit * sizeof(kind_record)));
  if (kinds == nullptr || !commit(segment.pool_kinds, 1)) return false;
  pools = map_again(nullptr);
  return pools != nullptr;
}

std::size_t length_of(const char* name) {
  std::size_t bytes = 0;
  while (name != nullptr && bytes < longest_name_bytes && name[bytes] != 0) ++bytes;
  return bytes;
}

bool is(const kind_record& kind, const char* name, std::size_t bytes, std::size_t chunk_bytes) {
  return kind.chunk_bytes == chunk_bytes && kind.name[bytes] == 0 && __builtin_memcmp(kind.name, name, bytes) == 0;
}

bool publish_kind(std::uint32_t kind, std::uint64_t opened) {
  if (!commit(segment.pool_kinds, kind + 1)) return false;
  wire::pool_kind& shown = segment.pool_kinds[kind];
  shown = {};
  const kind_record& of = kinds[kind];
  shown.name = publish_string(of.name, length_of(of.name));
  shown.chunk_bytes = of.chunk_bytes;
  shown.opened = opened;
  __atomic_store_n(&segment.header->pool_kind_count, kind + 1, __ATOMIC_RELEASE);
  return true;
}

std::uint32_t find_or_make_kind(const char* name, std::size_t chunk_bytes) {
  const std::size_t bytes = length_of(name);
  for (std::uint32_t kind = 1; kind < kind_count; ++kind)
    if (is(kinds[kind], name, bytes, chunk_bytes)) return kind;
  if (kind_count == kind_limit) return 0;
  kind_record& fresh = kinds[kind_count];
  fresh = {};
  if (bytes != 0) __builtin_memcpy(fresh.name, name, bytes);
  fresh.chunk_bytes = chunk_bytes;
  return publish_kind(kind_count, 0) ? kind_count++ : 0;
}

std::uint32_t free_place() {
  for (std::uint32_t i = 0; i < pool_count; ++i)
    if (pools[i].kind == 0) return i;
  if (pool_count == pool_limit || !commit(segment.pools, pool_count + 1)) return pool_limit;
  __atomic_store_n(&segment.header->pool_count, pool_count + 1, __ATOMIC_RELEASE);
  return pool_count++;
}

wire::pool* pool_of(const wire::pool_counters* counters) {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(counters) - reinterpret_cast<std::uint64_t>(pools);
  const std::uint64_t index = offset / sizeof(wire::pool);
  if (pools == nullptr || index >= pool_count || &pools[index].counters != counters) return nullptr;
  return &pools[index];
}

void add(std::uint64_t& to, const std::uint64_t& from) {
  to += __atomic_load_n(&from, __ATOMIC_RELAXED);
}

void add(wire::pool_counters& to, const wire::pool_counters& from) {
  add(to.allocations, from.allocations);
  add(to.frees, from.frees);
  add(to.allocated_bytes, from.allocated_bytes);
  add(to.page_bytes, from.page_bytes);
  add(to.pages, from.pages);
  add(to.arenas, from.arenas);
  for (std::size_t i = 0; i < sizeof to.sizes / sizeof to.sizes[0]; ++i) add(to.sizes[i], from.sizes[i]);
  if (from.peak_page_bytes > to.peak_page_bytes) to.peak_page_bytes = from.peak_page_bytes;
}

}  // namespace

wire::pool_counters* open_pool(const char* name, std::size_t chunk_bytes) {
  lock_guard held(pools_lock);
  if (prepare()) {
    const std::uint32_t kind = find_or_make_kind(name == nullptr ? "" : name, chunk_bytes);
    const std::uint32_t at = kind == 0 ? pool_limit : free_place();
    if (at != pool_limit) {
      pools[at].counters = {};
      pools[at].counters.chunk_bytes = chunk_bytes;
      ++segment.pool_kinds[kind].opened;
      __atomic_store_n(&pools[at].kind, kind, __ATOMIC_RELEASE);
      return &pools[at].counters;
    }
  }
  count_loss(wire::loss::pools_full);
  return nullptr;
}

void close_pool(wire::pool_counters* counters) {
  lock_guard held(pools_lock);
  wire::pool* const pool = pool_of(counters);
  if (pool == nullptr || pool->kind == 0) return;
  const std::uint32_t kind = pool->kind;
  __atomic_store_n(&pool->kind, 0, __ATOMIC_RELEASE);
  if (segment.header == nullptr || kind >= kind_count) return;
  ++segment.pool_kinds[kind].closed;
  add(segment.pool_kinds[kind].ended, *counters);
}

std::uint32_t kind_of_pool(const wire::pool_counters* counters) {
  const wire::pool* const pool = pool_of(counters);
  return pool == nullptr ? 0 : __atomic_load_n(&pool->kind, __ATOMIC_ACQUIRE);
}

void keep_pools() {
  if (process.generation != 0) return;  // an earlier handler allocated: they are moved
  pools_lock = 0;
  if (pools == nullptr || pool_count == 0) return;
  const std::size_t bytes = pool_count * sizeof(wire::pool);
  void* const kept = own_map(bytes);
  if (kept == nullptr) __builtin_trap();  // or the child would write into its parent's books
  __builtin_memcpy(kept, pools, bytes);
  if (!map_private(pools)) __builtin_trap();
  __builtin_memcpy(pools, kept, bytes);
  own_unmap(kept, bytes);
}

void move_pools() {
  pools_lock = 0;
  forget_pool_sites();  // without pools too: unloaded code has their paths forgotten, under a lock
  if (pools == nullptr) return;
  const bool fits = segment.pools.capacity == pool_limit && segment.pool_kinds.capacity == kind_limit;
  if (!fits || !commit(segment.pool_kinds, kind_count) || !commit(segment.pools, pool_count)) {
    count_loss(wire::loss::pools_full);
    return;
  }
  for (std::uint32_t kind = 1; kind < kind_count; ++kind) {
    std::uint64_t alive = 0;
    for (std::uint32_t i = 0; i < pool_count; ++i) alive += pools[i].kind == kind;
    publish_kind(kind, alive);
  }
  __builtin_memcpy(segment.pools.data, pools, pool_count * sizeof(wire::pool));
  segment.header->pool_count = pool_count;
  if (map_again(pools) == nullptr) __builtin_trap();  // nothing is left at the address that the pools know
}

}  // namespace heapledger::probe
