#include "probe/account/errors.hpp"

#include "probe/publish/segment.hpp"
#include "probe/publish/site_index.hpp"

namespace heapledger::probe {
namespace {

using error_sites = site_index<wire::error>;
constinit error_sites sites{&segment_view::errors, &wire::segment_header::error_count, wire::loss::errors_full};

}  // namespace

void count_error(books& own, const block_error& found) {
  const std::uint32_t allocated_node = segment.account_keys[found.account].node;
  const auto kinds = static_cast<std::uint32_t>(found.kind) << 8 | static_cast<std::uint32_t>(found.allocated_by) << 4 |
                     static_cast<std::uint32_t>(found.freed_by);
  const std::uint64_t freed_path = error_sites::path_of(own.stack.path(), kinds);
  const std::uint32_t site =
      sites.find_or_add(error_sites::path_of(freed_path, allocated_node), [&](wire::error& fresh) {
        fresh.kind = found.kind;
        fresh.account = found.account;
        fresh.allocated_node = allocated_node;
        fresh.node = own.stack.node();
        fresh.allocated_by = found.allocated_by;
        fresh.freed_by = found.freed_by;
      });
  if (site != 0) __atomic_fetch_add(&segment.errors[site].count, 1, __ATOMIC_RELAXED);
}

void forget_errors() {
  sites.forget_all();
}

void follow_code_of_errors() {
  sites.follow_code();
}

}  // namespace heapledger::probe
