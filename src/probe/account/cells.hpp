// The cells in which a thread books what belongs to accounts that another thread owns: a small hash table per thread
// that grows when it is crowded, and folds what it displaces into one shared cell per account.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

void reset_cells();
void no_deltas(books& own);

// The account of a stack, made if need be, owned by the thread that made it. Account 0 when the table is full.
HL_COLD std::uint32_t make_account(books& own, std::uint32_t node);

HL_HOT std::uint32_t account_of(books& own, std::uint32_t node) {
  const std::uint32_t account = __atomic_load_n(&segment.nodes[node].account, __ATOMIC_ACQUIRE);
  return HL_LIKELY(account != 0) ? account - 1 : make_account(own, node);
}

}  // namespace heapledger::probe
