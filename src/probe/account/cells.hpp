// The cells in which a thread books what belongs to accounts that another thread owns: a small hash table per thread
// that grows when it is crowded, and folds what it displaces into one shared cell per account.
#pragma once

#include "probe/account/books.hpp"
#include "probe/account/watch_view.hpp"

namespace heapledger::probe {

void reset_cells();
void no_deltas(books& own);

// The account of a stack and the cell in which this thread books it. The account is made if need be, and owned by the
// thread that made it; it is account 0 when the table is full.
struct account_cell {
  std::uint32_t account;
  wire::cell* cell;
};

// What account_of() leaves to do. For a suspect of the leak watch the cell is no_cell: such an allocation is offered to
// the watch first.
account_cell look_up_account(books& own, std::uint64_t path);
// The same of a stack that need not be the one walked last, for a thread that is in no scope; no cell: it was not met
// lately.
account_cell met_outside(books& own, std::uint64_t path);
// Of an account that is not the thread's own; no cell: there is no room.
account_cell cell_of_others_account(books& own, std::uint32_t account);

// In a scope: made by scope/.
bool in_scope(const books& own);
account_cell scope_account_cell(books& own, std::uint64_t path);
// The same of a stack that need not be the one walked last; no cell: it was not met here lately.
account_cell met_in_scope(books& own, std::uint64_t path);
std::uint32_t add_scope_account(const wire::account_key& key,
                                stack_cut cut);  // 0: the table is full
std::uint32_t account_outside_scopes(books& own, std::uint32_t node, std::uint64_t path);
bool is_lost(const wire::cell& cell);  // there was no room for the event

// Whether an account is the path's, and this thread's to book in. It may be one that another thread is making, or that
// will be made next: what else the key says is asked only where the owner is this thread, which wrote it.
HL_HOT bool is_own_account(const books& own, std::uint32_t account, std::uint64_t path) {
  const wire::account_key& key = segment.account_keys[account];
  return __atomic_load_n(&key.owner, __ATOMIC_RELAXED) == own.id && key.path == path &&
         __atomic_load_n(&segment.accounts[account].id, __ATOMIC_RELAXED) == wire::id_of_path(path) &&
         !is_suspect(account);
}

// Stacks are met again in the order in which they were met first: two walks of three in cc1plus end at the account that
// was made after that of the walk before. It need not be looked up, and its cell is next to the last one.
// In a scope no account is the thread's own, and `own.recent` knows nothing.
HL_HOT account_cell account_of(books& own, std::uint64_t path) {
  std::uint32_t account = own.recent_account + 1;
  wire::cell* cell = &segment.accounts[account];
  if (is_own_account(own, account, path)) {
    __builtin_prefetch(cell + 1, 1);
  } else {
    account = own.recent.owned(path);
    cell = &segment.accounts[account];
    if (HL_UNLIKELY(account == 0 || cell->id != wire::id_of_path(path))) return look_up_account(own, path);
  }
  own.recent_account = account;
  own.recent_cell = cell;
  return {account, cell};
}

// As account_index::follow_code.
void follow_code_of_accounts(std::uint32_t first);

}  // namespace heapledger::probe
