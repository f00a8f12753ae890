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

account_cell other_account_cell(books& own, std::uint64_t path);

HL_HOT account_cell account_of(books& own, std::uint64_t path) {
  const recent_accounts::entry& known = own.recent.of(path);
  if (HL_UNLIKELY(known.path != path || known.owned == 0)) return other_account_cell(own, path);
  own.recent_account = known.account;
  own.recent_cell = &segment.accounts[known.account];
  return {own.recent_account, own.recent_cell};
}

// Code was unloaded.
void forget_paths();

}  // namespace heapledger::probe
