#include "probe/scope/sites.hpp"

#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

void add(scope_site& to, const wire::cell& from) {
  to.allocations += from.allocations;
  to.allocated_bytes += from.allocated_bytes;
  to.frees += from.frees;
  to.freed_bytes += from.freed_bytes;
}

void set_frames(scope_site& of, std::uint32_t node) {
  for (; node != 0 && of.frame_count < site_frame_limit; node = segment.nodes[node].parent)
    of.frames[of.frame_count++] =
        segment.places[segment.nodes[node].place].where & (wire::place_exact_address - 1);  // below the flags
}

// Itself, or below it: a kind is made after its parent.
bool is_within(std::uint32_t account, std::uint32_t kind) {
  std::uint32_t of = segment.account_keys[account].scope;
  while (of > kind) of = segment.scopes[of].parent;
  return of == kind;
}

}  // namespace

std::size_t sites_of_kind(std::uint32_t kind, scope_site* out, std::size_t capacity) {
  const std::uint32_t accounts = __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE);
  const std::uint32_t cells = __atomic_load_n(&segment.header->cell_count, __ATOMIC_ACQUIRE);
  std::size_t found = 0;
  for (std::uint32_t account = 1; account < accounts; ++account) {
    if (!is_within(account, kind)) continue;
    if (found < capacity) {
      out[found] = {};
      out[found].account = account;
      set_frames(out[found], segment.account_keys[account].node);
      add(out[found], segment.accounts[account]);
    }
    ++found;
  }
  const std::size_t filled = found < capacity ? found : capacity;
  for (std::uint32_t cell = 0; cell < cells && filled != 0; ++cell) {
    const std::uint32_t account = segment.cells[cell].id - 1;
    if (account >= accounts || !is_within(account, kind)) continue;
    std::size_t low = 0, high = filled;  // they are in the order of their accounts
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (out[middle].account <= account ? low : high) = middle;
    }
    if (out[low].account == account) add(out[low], segment.cells[cell]);
  }
  return found;
}

}  // namespace heapledger::probe
