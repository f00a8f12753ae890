#include "probe/pool/sites.hpp"

#include "probe/publish/segment.hpp"
#include "probe/publish/site_index.hpp"

namespace heapledger::probe {
namespace {

using pool_sites = site_index<wire::pool_site>;
constinit pool_sites sites{&segment_view::pool_sites, &wire::segment_header::pool_site_count, wire::loss::pools_full};
constinit std::uint32_t generation = 0;  // forks since the first site: in the upper byte of what a chunk remembers

void add_to(std::uint64_t& count, std::uint64_t& sum, std::size_t bytes) {
  __atomic_fetch_add(&sum, bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

}  // namespace

std::uint32_t book_chunk(books& own, std::uint32_t kind, std::size_t bytes) {
  const std::uint32_t site =
      sites.find_or_add(pool_sites::path_of(own.stack.path(), kind), [&](wire::pool_site& fresh) {
        fresh.kind = kind;
        fresh.node = own.stack.node();
      });
  if (site == 0) return 0;
  add_to(segment.pool_sites[site].allocations, segment.pool_sites[site].allocated_bytes, bytes);
  return generation << id_index::id_bits | site;
}

std::uint32_t site_index_of(std::uint32_t answer) {
  const std::uint32_t index = answer & id_index::id_mask;
  return answer >> id_index::id_bits == generation && sites.is_one(index) ? index : 0;
}

void book_chunk_free(std::uint32_t site, std::size_t bytes) {
  const std::uint32_t index = site_index_of(site);
  if (index == 0) return;
  add_to(segment.pool_sites[index].frees, segment.pool_sites[index].freed_bytes, bytes);
}

void forget_pool_sites() {
  sites.forget_all();
  generation = (generation + 1) & 0xff;
}

void follow_code_of_pool_sites() {
  sites.follow_code();
}

}  // namespace heapledger::probe
