// Which account a scope has for a stack, and which scope an account is bound to.
#pragma once

#include "probe/account/books.hpp"
#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// The scope's account for a stack, made or taken back from earlier scopes of its kind if need be; 0 when there is no
// room. With signals blocked.
std::uint32_t bind_account(books& own, scope_record& record, std::uint32_t node, std::uint64_t path, stack_cut cut);
// The same when the scope begins, by no thread in particular; with the lock of scopes held, as below.
std::uint32_t bind_first_account(scope_record& record);
// The scope ended, and nothing of it lives: its accounts wait for the next of its kind.
void unbind_accounts(scope_record& record);
// 0: the account is not a scope's.
std::uint32_t scope_of_account(std::uint32_t account);
void reset_bindings(bool unmap);

}  // namespace heapledger::probe
