// Which account a scope has for a stack. A thread binds accounts of its own, without a lock; what is beyond its share,
// it binds from those of all threads.
#pragma once

#include "probe/account/books.hpp"
#include "probe/scope/bindings.hpp"
#include "probe/scope/scope.hpp"

namespace heapledger::probe {

struct scope_slot;

// The accounts that a thread keeps for scopes: bound, or free for the next scope of their kind. They hold its own books
// of one stack in one scope each; other threads that free what is charged there book it beside them, as ever.
struct own_accounts {
  binding_table table;
  std::uint32_t code_age;    // grows when code was unloaded
  std::uint32_t hand;        // where to look for one to do without
  std::uint32_t given_back;  // of scopes that were recycled, batches of siblings: account + 1; by whoever recycled them
};

// A thread's own are no more than this, and with many threads fewer; tests want few.
HL_INTERNAL extern std::uint32_t most_own_accounts;

inline constexpr std::uint32_t walked_last = UINT32_MAX;
// The account of the slot's scope for the stack of `node`, or for the one that was walked last: made, or one of an
// earlier scope of its kind, if need be. 0 when there is no room.
std::uint32_t bind_account(books& own, scope_slot& slot, std::uint32_t node, std::uint64_t path);
// The same of a stack that need not be the one walked last; 0: the thread has none for it.
std::uint32_t bind_met(books& own, scope_slot& slot, std::uint64_t path);

// That of no stack, which a scope has when it begins. 0: there is no room.
std::uint32_t bind_base_account(scope_record& record);
// The scope ended, and nothing of it lives: its accounts wait for the next of its kind. With the lock of scopes held.
void unbind_accounts(scope_record& record);
void reset_bindings(bool unmap);

}  // namespace heapledger::probe
