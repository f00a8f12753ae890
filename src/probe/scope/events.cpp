// What scopes add to events: where an allocation is booked, and whom a free credits.
#include "probe/base/lock.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {
namespace {

wire::cell& own_cell(books& own, std::uint32_t account) {
  wire::cell* const known = known_cell(own, account);
  return HL_LIKELY(known != nullptr) ? *known : delta_cell_slow(own, account);
}

// The accounts of stacks, met lately, among them the current scope's of this path, if it was met.
HL_HOT auto& known_set(thread_scopes& mine, std::uint64_t path) {
  return mine.known[(path ^ mine.current->handle * 0x9e3779b97f4a7c15u) >> (64 - thread_scopes::set_bits)];
}

// The current scope's, if it was met lately; 0: it was not.
HL_HOT std::uint32_t known_account(thread_scopes& mine, std::uint64_t path) {
  const scope_handle scope = mine.current->handle;
  for (const thread_scopes::known_account& each : known_set(mine, path))
    if (each.scope == scope && each.path == path) return each.account;
  return 0;
}

std::uint32_t know(thread_scopes& mine, std::uint64_t path, std::uint32_t account) {
  if (account != 0)
    known_set(mine, path)[mine.replaced++ % thread_scopes::set_accounts] = {mine.current->handle, path, account};
  return account;
}
HL_COLD std::uint32_t bind_walked(books& own, std::uint64_t path) {
  thread_scopes& mine = *own.scopes;
  return know(mine, path, bind_account(own, *mine.current, walked_last, path));
}

// A free by this thread of what another scope than its current one allocated; `sign` -1 takes it back.
void book_elsewhere(books& own, std::uint32_t account, std::uint32_t scope, std::size_t bytes, int sign) {
  if (thread_scopes_of(own) == nullptr) return;
  thread_scopes& mine = *own.scopes;
  const totals did{0, 0, static_cast<std::uint64_t>(sign), static_cast<std::uint64_t>(sign) * bytes};
  {
    changing counters(mine);
    mine.excluded += did;
  }
  const touching the_scope(mine.crediting_index, scope);
  scope_record* record = record_at(scope);
  const std::uint64_t life = record != nullptr ? settled_life(*record, handle_of(*record, load_life(*record))) : 0;
  note_freer(own, segment.account_keys[account].scope, state_of(life) == scope_state::closed, bytes, sign);
  if (record == nullptr) return;
  const scope_handle handle = handle_of(*record, life);
  if (scope_slot* slot = slot_of(own, *record, handle); slot != nullptr) {
    {
      changing counters(mine);
      slot->counts += did;
    }
    apply(mine, slot, did);
    return;
  }
  fold_directly(*record, did);
}

}  // namespace

bool in_scope(const books& own) {
  return own.scopes->current != nullptr;
}

account_cell scope_account_cell(books& own, std::uint64_t path) {
  thread_scopes& mine = *own.scopes;
  const scope_slot& slot = *mine.current;
  std::uint32_t account = known_account(mine, path);
  if (HL_UNLIKELY(account == 0 && (account = bind_walked(own, path)) == 0)) {
    own.forget_recent();
    return {slot.of->base_account, &own_cell(own, slot.of->base_account)};
  }
  wire::cell& cell = own_cell(own, account);
  // Where each allocation must be looked at, the shortcut stays unset: so each takes the way that asks for a lease.
  if (HL_LIKELY(!(own.gated && mine.each_event) && !is_lost(cell))) {
    own.recent_account = account;
    own.recent_cell = &cell;
  } else {
    own.forget_recent();
  }
  return {account, &cell};
}

account_cell met_in_scope(books& own, std::uint64_t path) {
  thread_scopes& mine = *own.scopes;
  std::uint32_t account = known_account(mine, path);
  if (account == 0) account = know(mine, path, bind_met(own, *mine.current, path));
  if (account == 0) return {0, nullptr};
  if (HL_UNLIKELY(is_suspect(account))) return {account, &no_cell};
  wire::cell& cell = own_cell(own, account);
  return {account, is_lost(cell) ? nullptr : &cell};
}

account_cell stackless_account_cell(books& own) {
  const bool inside = own.scopes != nullptr && in_scope(own);
  const std::uint32_t account = inside ? own.scopes->current->of->base_account : 0;
  return {account, &own_cell(own, account)};
}

account_cell account_cell_of_node(books& own, std::uint32_t node, std::uint64_t path) {
  std::uint32_t account;
  if (own.scopes != nullptr && in_scope(own)) {
    scope_slot& slot = *own.scopes->current;
    account = bind_account(own, slot, node, path);
    if (account == 0) account = slot.of->base_account;
  } else {
    account = account_outside_scopes(own, node, path);
  }
  return {account, &own_cell(own, account)};
}

void forget_scope_accounts(thread_scopes& of) {
  for (auto& set : of.known)
    for (thread_scopes::known_account& each : set) each = {};
  for (scope_slot& each : of.slots) each.recent_account = 0;
  ++of.accounts.code_age;
  if (of.current != nullptr) of.outside.forget();
}

void book_free_with_scopes(books& own, std::uint32_t account, const void* block, std::size_t bytes) {
  wire::cell& cell = own_cell(own, account);
  settle_peak(cell);
  const std::uint32_t scope = scope_of_account(account);
  const scope_slot* current = own.scopes != nullptr ? own.scopes->current : nullptr;
  if (scope == (current != nullptr ? current->of->index : 0)) {
    add_free(own, cell, block, bytes);
    if (HL_UNLIKELY(own.gated && own.scopes->nested)) settle_scope(own);
  } else {
    if (own.scopes != nullptr && own.scopes->current != nullptr) settle(own);
    add_free(own, cell, block, bytes);
    book_elsewhere(own, account, scope, bytes, 1);
    if (own.scopes != nullptr && own.scopes->current != nullptr) set_scope_mark(own);
  }
  if (HL_UNLIKELY(own.live < own.publish_below)) publish_live(own);
}

HL_COLD void unbook_free_with_scopes(books& own, std::uint32_t account, std::size_t bytes, const void* last) {
  take_back_free(own, own_cell(own, account), account, bytes, last);
  const std::uint32_t scope = scope_of_account(account);
  const scope_slot* current = own.scopes != nullptr ? own.scopes->current : nullptr;
  if (scope != (current != nullptr ? current->of->index : 0)) book_elsewhere(own, account, scope, bytes, -1);
  settle_scope(own);
}

HL_COLD void return_leases(books& own, std::uint32_t scope) {
  thread_scopes& mine = *own.scopes;
  const touching the_scope(mine.crediting_index, scope);
  const scope_record* const record = record_at(scope);
  if (record == nullptr || !record->gated) return;
  const scope_handle handle = handle_of(*record, load_life(*record));
  scope_slot* const slot = names(handle, settled_life(*record, handle)) ? slot_in(mine, handle) : nullptr;
  if (slot == nullptr) return;
  settle_scope(own);
  apply(mine, slot, {});
  if (mine.current != nullptr) set_scope_mark(own);
}

HL_COLD void settle_scope(books& own) {
  if (own.scopes == nullptr || own.scopes->current == nullptr) return;
  settle(own);
  // Before a handler returns; and at the last look before a kill, so that what was only allocated shows, too.
  if (own.live > own.scopes->scope_mark || HL_UNLIKELY(own.scopes->nested)) note_peaks(*own.scopes);
  set_scope_mark(own);
}

HL_COLD bool scope_peak_passed(books& own) {
  thread_scopes& mine = *own.scopes;
  if (mine.current == nullptr) return true;
  if (HL_LIKELY(!own.gated)) {
    if (own.live > mine.scope_mark) open_peak(own);
    return own.live > mine.process_mark;
  }
  // Leases may be taken back meanwhile, and what they held be used by others: it would count twice.
  settle(own);
  note_peaks(mine);
  set_scope_mark(own);
  return own.live > mine.process_mark;
}

HL_COLD void set_peak_mark(books& own, std::int64_t mark) {
  own.peak_mark = mark;
  if (own.scopes == nullptr || own.scopes->current == nullptr) return;
  own.scopes->process_mark = mark;
  set_mark_of_frees(own);
}

HL_COLD std::int64_t process_peak_mark(const books& own) {
  const bool in = own.scopes != nullptr && own.scopes->current != nullptr;
  return in ? own.scopes->process_mark : own.peak_mark;
}

}  // namespace heapledger::probe
