#include "probe/pool/sites.hpp"

#include "probe/base/lock.hpp"
#include "probe/publish/id_index.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

constinit std::uint32_t sites_lock = 0;
constinit id_index sites;
constinit bool created = false;
constinit std::uint32_t generation = 0;  // forks since the first site: in the upper byte of what a chunk remembers

std::uint64_t path_in(std::uint32_t kind, std::uint64_t path) {
  path = (path ^ kind) * 0x9e3779b97f4a7c15u;
  return path ^ path >> 29;
}

bool create() {
  if (created) return true;
  if (!sites.create() || !commit(segment.pool_sites, 1)) return false;
  segment.pool_sites[0] = {};
  segment.header->pool_site_count = 1;
  __atomic_store_n(&created, true, __ATOMIC_RELEASE);
  return true;
}

std::uint32_t find(std::uint64_t path) {
  if (!__atomic_load_n(&created, __ATOMIC_ACQUIRE)) return 0;
  return sites.find(path, [path](std::uint32_t site) { return segment.pool_sites[site].path == path; });
}

HL_COLD std::uint32_t add(books& own, std::uint32_t kind, std::uint64_t path) {
  lock_guard held(sites_lock);
  if (!create()) return 0;
  if (const std::uint32_t known = find(path); known != 0) return known;
  const std::uint32_t fresh = segment.header->pool_site_count;
  const bool room = commit(segment.pool_sites, fresh + 1);
  if (!room) {
    count_loss(wire::loss::pools_full);
    return 0;
  }
  wire::pool_site& site = segment.pool_sites[fresh];
  site = {};
  site.kind = kind;
  site.node = own.stack.node();
  site.path = path;
  __atomic_store_n(&segment.header->pool_site_count, fresh + 1, __ATOMIC_RELEASE);
  sites.add(path, fresh, [](std::uint32_t site) { return segment.pool_sites[site].path; });
  return fresh;
}

void add_to(std::uint64_t& count, std::uint64_t& sum, std::size_t bytes) {
  __atomic_fetch_add(&sum, bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

}  // namespace

std::uint32_t book_chunk(books& own, std::uint32_t kind, std::size_t bytes) {
  const std::uint64_t path = path_in(kind, own.stack.path());
  std::uint32_t site = find(path);
  if (HL_UNLIKELY(site == 0)) site = add(own, kind, path);
  if (site == 0) return 0;
  add_to(segment.pool_sites[site].allocations, segment.pool_sites[site].allocated_bytes, bytes);
  return generation << id_index::id_bits | site;
}

std::uint32_t site_index(std::uint32_t answer) {
  const std::uint32_t index = answer & id_index::id_mask;
  if (index == 0 || answer >> id_index::id_bits != generation || !__atomic_load_n(&created, __ATOMIC_ACQUIRE)) return 0;
  return index < __atomic_load_n(&segment.header->pool_site_count, __ATOMIC_ACQUIRE) ? index : 0;
}

void book_chunk_free(std::uint32_t site, std::size_t bytes) {
  const std::uint32_t index = site_index(site);
  if (index == 0) return;
  add_to(segment.pool_sites[index].frees, segment.pool_sites[index].freed_bytes, bytes);
}

void forget_pool_sites() {
  sites_lock = 0;
  created = false;
  generation = (generation + 1) & 0xff;
}

void forget_pool_paths() {
  lock_guard held(sites_lock);
  if (created) sites.clear();
}

}  // namespace heapledger::probe
