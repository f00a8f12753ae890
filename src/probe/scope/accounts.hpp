// Which account a scope has for a stack, and which scope an account is bound to.
#pragma once

#include "probe/account/books.hpp"
#include "probe/account/tag.hpp"
#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// What an account is bound to, and the lists that it is in.
struct scope_binding {
  std::uint32_t scope;    // index; 0: free for the next of its kind
  std::uint32_t next;     // account + 1 in the same bucket
  std::uint32_t sibling;  // account + 1 of the same scope
  // What a thread wanted next in a scope: the account + 1, and above it the code epoch, since its path may mean other
  // code in a later one. No more than a hint.
  std::uint64_t follower;
};
inline constexpr unsigned binding_chunk_bits = 12;
inline constexpr std::uint32_t binding_chunk_accounts = 1u << binding_chunk_bits;
HL_INTERNAL extern scope_binding* binding_chunks[tag::account_limit >> binding_chunk_bits];

// The index of the scope that it is bound to. 0: the account is not a scope's.
HL_HOT std::uint32_t scope_of_account(std::uint32_t account) {
  const scope_binding* chunk = __atomic_load_n(&binding_chunks[account >> binding_chunk_bits], __ATOMIC_ACQUIRE);
  if (HL_LIKELY(chunk == nullptr)) return 0;
  return __atomic_load_n(&chunk[account & (binding_chunk_accounts - 1)].scope, __ATOMIC_ACQUIRE);
}

// Accounts that are bound to a scope with the one that it needs, because they followed that one before: scopes of a
// kind mostly allocate from the same stacks in turn, and to bind one takes a lock and two system calls.
struct bound_ahead {
  static constexpr std::uint32_t most = 32;

  std::uint32_t wanted;  // so many, at most
  std::uint32_t count = 0;
  std::uint32_t accounts[most] = {};
};

// The scope's account for a stack, made or taken back from earlier scopes of its kind if need be; 0 when there is no
// room. With signals blocked.
std::uint32_t bind_account(books& own, scope_record& record, std::uint32_t node, std::uint64_t path, stack_cut cut,
                           bound_ahead& ahead);
// A thread wanted one account after the other, both of the scope that it is in.
void note_follower(std::uint32_t account, std::uint32_t follower);
// The same when the scope begins, by no thread in particular; with the lock of scopes held, as below.
std::uint32_t bind_first_account(scope_record& record);
// The scope ended, and nothing of it lives: its accounts wait for the next of its kind.
void unbind_accounts(scope_record& record);
// Code was unloaded: nothing follows what it followed.
void forget_followers();
void reset_bindings(bool unmap);

}  // namespace heapledger::probe
