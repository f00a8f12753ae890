// The cells in which a thread books what belongs to accounts that another thread owns: a small hash table per thread
// that grows when it is crowded, and folds what it displaces into one shared cell per account.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

void reset_cells();
void no_deltas(books& own);

// The account of a stack and the cell in which this thread books it. The account is made if need be, and owned by the
// thread that made it; it is account 0 when the table is full.
struct account_cell {
  std::uint32_t account;
  wire::cell* cell;
};

// For a suspect of the leak watch the cell is no_cell: such an allocation is offered to the watch first.
account_cell other_account_cell(books& own, std::uint64_t path);

// In a scope: made by scope/.
bool in_scope(const books& own);
account_cell scope_account_cell(books& own, std::uint64_t path);
std::uint32_t add_scope_account(const wire::account_key& key,
                                stack_cut cut);  // 0: the table is full
std::uint32_t account_outside_scopes(books& own, std::uint32_t node, std::uint64_t path);
bool is_lost(const wire::cell& cell);  // there was no room for the event

// In a scope `own.recent` knows nothing.
HL_HOT account_cell account_of(books& own, std::uint64_t path) {
  const std::uint32_t account = own.recent.owned(path);
  wire::cell& cell = segment.accounts[account];
  if (HL_UNLIKELY(account == 0 || cell.id != wire::id_of_path(path))) return other_account_cell(own, path);
  own.recent_account = account;
  own.recent_cell = &cell;
  return {account, &cell};
}

// Code was unloaded.
void forget_paths();

}  // namespace heapledger::probe
