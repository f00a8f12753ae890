#include "probe/mapping/sites.hpp"

#include "probe/publish/segment.hpp"
#include "probe/publish/site_index.hpp"

namespace heapledger::probe {
namespace {

using mapping_sites = site_index<wire::mapping_site>;
constinit mapping_sites sites{&segment_view::mapping_sites, &wire::segment_header::mapping_site_count,
                              wire::loss::mappings_full};

}  // namespace

std::uint32_t book_mapping(books& own, wire::mapping_kind kind) {
  const std::uint64_t path = mapping_sites::path_of(own.stack.path(), static_cast<std::uint32_t>(kind));
  const std::uint32_t site = sites.find_or_add(path, [&](wire::mapping_site& fresh) {
    fresh.kind = kind;
    fresh.node = own.stack.node();
  });
  if (site != 0) __atomic_fetch_add(&segment.mapping_sites[site].calls, 1, __ATOMIC_RELAXED);
  return site;
}

void forget_mapping_sites() {
  sites.forget_all();
}

void follow_code_of_mapping_sites() {
  sites.follow_code();
}

}  // namespace heapledger::probe
