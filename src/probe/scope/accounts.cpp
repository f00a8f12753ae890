#include "probe/scope/accounts.hpp"

#include "probe/account/cells.hpp"
#include "probe/account/registry.hpp"
#include "probe/base/lock.hpp"
#include "probe/publish/nodes.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {

constinit std::uint32_t most_own_accounts = 16384;

namespace {

constinit std::uint32_t shared_lock = 0;
constinit binding_table shared;  // of no thread's own accounts

std::uint32_t& owner_of(std::uint32_t account) {
  return segment.account_keys[account].owner;
}

// Nobody books in it between two scopes: whoever binds it may own it. `owner`: writer + 1.
void give_to(std::uint32_t account, std::uint32_t owner) {
  std::uint32_t& has = owner_of(account);
  const std::uint32_t before = has & wire::owner_writer;
  const std::uint32_t changed = before != 0 && before != owner ? wire::owner_changed : has & wire::owner_changed;
  __atomic_store_n(&has, owner | wire::owner_in_scope | changed, __ATOMIC_RELAXED);
}

// Base accounts stay with their records, and with the thread that needed one first.
void claim(std::uint32_t account, std::uint32_t owner) {
  std::uint32_t& has = owner_of(account);
  std::uint32_t known = __atomic_load_n(&has, __ATOMIC_RELAXED);
  while ((known & wire::owner_writer) == 0)
    if (__atomic_compare_exchange_n(&has, &known, known | owner, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
}

struct stack_wanted {
  std::uint32_t node;
  std::uint64_t path;
  stack_cut cut;
  bool is_walked;  // last: so its path means it now

  bool operator()(std::uint32_t account) const { return same_stack(segment.account_keys[account].node, node); }
};

// An account that is bound to nothing and in no table.
std::uint32_t make(const scope_record& record, const stack_wanted& stack, std::uint32_t owner) {
  const std::uint32_t account =
      add_scope_account({stack.node, record.kind, 0, owner | wire::owner_in_scope, stack.path}, stack.cut);
  return account != 0 && make_binding(account) ? account : 0;
}
std::uint32_t take_shared(const scope_record& record, const stack_wanted& stack) {
  const std::uint32_t waiting = shared.take(record.kind, stack.path, stack);
  return waiting != 0 ? waiting - 1 : 0;
}

void bind_in(binding_table& table, std::uint32_t& siblings, std::uint32_t account, std::uint32_t scope) {
  scope_binding& of = binding_of(account);
  __atomic_store_n(&of.scope, scope, __ATOMIC_RELEASE);
  of.sibling = siblings;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&siblings, account + 1, __ATOMIC_RELAXED);
  table.add(account);
}

// What was given back waits for the next scope.
HL_COLD void take_back(own_accounts& mine) {
  std::uint32_t batch = __atomic_exchange_n(&mine.given_back, 0u, __ATOMIC_ACQUIRE);
  while (batch != 0) {
    const scope_binding* of = known_binding(batch - 1);
    if (HL_UNLIKELY(of == nullptr)) return;
    std::uint32_t at = batch;
    batch = of->batch;
    while (at != 0 && HL_LIKELY((of = known_binding(at - 1)) != nullptr)) {
      const std::uint32_t account = at - 1;
      at = of->sibling;
      mine.table.rebind(account, 0);
    }
  }
}

bool may_have_more(const own_accounts& mine) {
  constexpr std::uint32_t of_all = 1u << 16, least = 256;
  const std::uint32_t count = mine.table.count();
  if (count >= most_own_accounts) return false;
  return count < least || count < of_all / (registered_books() + 1);
}

// One more of a thread's own, or one for another, which anybody may have then. With the lock held.
bool exchange_own(own_accounts& mine) {
  const std::uint32_t idle = mine.table.some_free(mine.hand);
  if (idle == 0) return false;
  mine.table.remove(idle - 1);
  shared.add(idle - 1);
  return true;
}

std::uint32_t bind_own(own_accounts& mine, scope_slot& slot, std::uint32_t account, bool is_walked) {
  binding_of(account).code_age = is_walked ? mine.code_age + 1 : 0;
  bind_in(mine.table, slot.of->bound_by[slot.place - 1], account, slot.of->index);
  return account;
}

// From those of all threads, or a new one.
HL_COLD std::uint32_t bind_shared(books& own, scope_slot& slot, const stack_wanted& stack, bool has_room) {
  scope_record& record = *slot.of;
  const inner_lock_guard held(shared_lock);
  if (!shared.has_room() && !shared.grow()) return 0;
  if (record.first_account != 0)
    if (const std::uint32_t known = shared.find(record.index, record.kind, stack.path, stack); known != 0)
      return known - 1;
  std::uint32_t account = take_shared(record, stack);
  if (account != 0)
    give_to(account, own.writer_id);
  else if (account = make(record, stack, own.writer_id); account == 0)
    return 0;
  if (has_room || (slot.place != 0 && exchange_own(own.scopes->accounts)))
    return bind_own(own.scopes->accounts, slot, account, stack.is_walked);
  bind_in(shared, record.first_account, account, record.index);
  return account;
}

// The thread has none for the stack.
HL_COLD std::uint32_t bind_another(books& own, scope_slot& slot, std::uint32_t node, std::uint64_t path) {
  const signals_blocked quiet;
  const stack_wanted stack = node == walked_last ? stack_wanted{own.stack.node(), path, own.stack.cut(), true}
                                                 : stack_wanted{node, path, stack_cut::none, false};
  own_accounts& mine = own.scopes->accounts;
  const bool has_room = slot.place != 0 && (mine.table.has_room() || mine.table.grow()) && may_have_more(mine);
  const bool nothing_shared = __atomic_load_n(&slot.of->first_account, __ATOMIC_RELAXED) == 0 && shared.count() == 0;
  if (!has_room || !nothing_shared) return bind_shared(own, slot, stack, has_room);
  const std::uint32_t account = make(*slot.of, stack, own.writer_id);
  return account != 0 ? bind_own(mine, slot, account, stack.is_walked) : 0;
}

// What the thread has for the stack: bound to the scope, or now bound to it. 0: nothing.
template <class IsSame>
std::uint32_t bind_waiting(own_accounts& mine, scope_slot& slot, std::uint64_t path, IsSame is_same) {
  scope_record& record = *slot.of;
  // Before a scope begins, what its record was bound to is given back; pairs with unbind_accounts().
  if (__atomic_load_n(&mine.given_back, __ATOMIC_RELAXED) != 0) take_back(mine);
  if (const std::uint32_t bound = mine.table.find(record.index, record.kind, path, is_same); bound != 0)
    return bound - 1;
  if (slot.place == 0) return 0;
  const std::uint32_t waiting = mine.table.take(record.kind, path, is_same);
  if (HL_UNLIKELY(waiting == 0)) return 0;
  bind_in(mine.table, record.bound_by[slot.place - 1], waiting - 1, record.index);
  return waiting - 1;
}

}  // namespace

std::uint32_t bind_account(books& own, scope_slot& slot, std::uint32_t node, std::uint64_t path) {
  scope_record& record = *slot.of;
  if (path == 0) {
    claim(record.base_account, own.writer_id);
    return record.base_account;
  }
  own_accounts& mine = own.scopes->accounts;
  const auto is_same = [&own, &mine, node](std::uint32_t account) {
    scope_binding& of = binding_of(account);
    if (node != walked_last) return same_stack(segment.account_keys[account].node, node);
    if (HL_LIKELY(of.code_age == mine.code_age + 1)) return true;
    const signals_blocked quiet;
    if (!same_stack(segment.account_keys[account].node, own.stack.node())) return false;
    of.code_age = mine.code_age + 1;
    return true;
  };
  const std::uint32_t account = bind_waiting(mine, slot, path, is_same);
  return HL_LIKELY(account != 0) ? account : bind_another(own, slot, node, path);
}

std::uint32_t bind_met(books& own, scope_slot& slot, std::uint64_t path) {
  own_accounts& mine = own.scopes->accounts;
  return bind_waiting(mine, slot, path,
                      [&mine](std::uint32_t account) { return binding_of(account).code_age == mine.code_age + 1; });
}

std::uint32_t bind_base_account(scope_record& record) {
  if (record.base_account != 0 && binding_of(record.base_account).kind == record.kind) return record.base_account;
  const lock_guard held(shared_lock);
  if (!shared.has_room() && !shared.grow()) return 0;
  if (record.base_account != 0) {
    __atomic_store_n(&binding_of(record.base_account).scope, 0, __ATOMIC_RELAXED);
    shared.add(record.base_account);
  }
  constexpr stack_wanted none{0, 0, stack_cut::none, false};
  std::uint32_t account = take_shared(record, none);
  if (account == 0 && (account = make(record, none, 0)) == 0) return record.base_account = 0;
  __atomic_store_n(&binding_of(account).scope, record.index, __ATOMIC_RELEASE);
  return record.base_account = account;
}

void unbind_accounts(scope_record& record) {
  const std::uint32_t workers = known_workers(record);
  for (std::uint32_t i = 0; i < workers; ++i) {
    const std::uint32_t first = __atomic_load_n(&record.bound_by[i], __ATOMIC_RELAXED);
    if (first == 0) continue;
    own_accounts& of = record.workers[i]->scopes->accounts;
    std::uint32_t batches = __atomic_load_n(&of.given_back, __ATOMIC_RELAXED);
    do {
      binding_of(first - 1).batch = batches;
    } while (!__atomic_compare_exchange_n(&of.given_back, &batches, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  }
  if (record.first_account == 0) return;
  const inner_lock_guard held(shared_lock);
  for (std::uint32_t at = record.first_account; at != 0;) {
    const std::uint32_t account = at - 1;
    at = binding_of(account).sibling;
    shared.rebind(account, 0);
  }
  record.first_account = 0;
}

void reset_bindings(bool unmap) {
  shared_lock = 0;
  shared.reset(unmap);
  reset_binding_chunks(unmap);
}

}  // namespace heapledger::probe
