// A thread enters a scope, and leaves it.
#include "probe/scope/budget.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {
namespace {

enum class way { in, back };

// Who comes back comes back into a closed scope, too.
template <way Way>
HL_HOT bool admits(scope_handle handle, std::uint64_t life) {
  return HL_LIKELY(names(handle, life)) && (HL_LIKELY(state_of(life) == scope_state::open) ||
                                            (Way == way::back && state_of(life) == scope_state::closed));
}

// The scope itself, or the nearest ancestor that is open.
template <way Way>
scope_handle nearest(scope_handle handle) {
  if constexpr (Way == way::back) {
    const scope_record* record = record_at(index_of(handle));
    if (record != nullptr && admits<Way>(handle, settled_life(*record, handle))) return handle;
  }
  return nearest_open(handle);
}

// So far up that this thread can have a slot of it, and of all that is above it.
scope_handle within_reach(const scope_record& record) {
  std::uint32_t levels = 0;
  for (const scope_record* each = &record; each != nullptr; each = each->parent) ++levels;
  const scope_record* up = &record;
  for (std::uint32_t more = levels > slots_used ? levels - slots_used : 1; more != 0 && up != nullptr; --more)
    up = up->parent;
  return up != nullptr ? handle_of(*up, load_life(*up)) : 0;
}

// What the thread leaves, and has settled, need not keep its slots.
scope_slot* slot_in_place_of_current(books& own, scope_record& record, scope_handle to) {
  thread_scopes& mine = *own.scopes;
  if (mine.current == nullptr) return nullptr;
  {
    changing now(mine);
    __atomic_store_n(&mine.current, nullptr, __ATOMIC_RELAXED);
  }
  return slot_of(own, record, to);
}

// For a scope that this thread has not met lately; `to` becomes what is entered instead, where it is not open, or is
// nested too deep.
template <way Way>
HL_COLD scope_slot* slot_to_enter(books& own, scope_handle& to) {
  for (to = nearest<Way>(to); to != 0; to = nearest<Way>(to)) {
    // Said to be entered before the slot is made: else the record, and its parents, could become others meanwhile.
    __atomic_store_n(&own.scopes->current_index, index_of(to), __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);  // pairs with the barrier in look_through_closed()
    scope_record& record = *record_at(index_of(to));
    if (!admits<Way>(to, load_life(record))) continue;
    scope_slot* slot = slot_of(own, record, to);
    if (slot == nullptr) slot = slot_in_place_of_current(own, record, to);
    if (slot != nullptr) return slot;
    count_loss(wire::loss::scopes_full);
    to = within_reach(record);
  }
  return nullptr;
}

// The shortcut from the remembered stack to its account is kept for when the thread comes back with the same stack.
HL_HOT void keep_recent(const books& own, scope_slot& slot) {
  const bool owned = own.recent_cell != &no_cell && own.recent_cell == &segment.accounts[own.recent_account];
  slot.recent_account = owned ? own.recent_account : 0;
  slot.recent_path = own.stack.path();
}

HL_HOT void use_recent(books& own, const scope_slot& slot) {
  const bool known = slot.recent_account != 0 && slot.recent_path == own.stack.path();
  if (!known || (own.gated && own.scopes->each_event)) return;
  own.recent_account = slot.recent_account;
  own.recent_cell = &segment.accounts[slot.recent_account];
}

template <way Way>
HL_HOT scope_handle go(books& own, scope_handle to) {
  if (HL_UNLIKELY(own.scopes == nullptr) && (to == 0 || thread_scopes_of(own) == nullptr)) return 0;
  thread_scopes& mine = *own.scopes;
  scope_slot* const left = mine.current;
  const scope_handle from = left != nullptr ? left->handle : 0;
  if (from == to && (Way == way::back || to == 0 || HL_LIKELY(admits<Way>(to, load_life(*left->of))))) return from;
  if (left != nullptr) {
    settle(own);
    if (HL_UNLIKELY(own.live > mine.scope_mark)) note_peaks(mine);
    keep_recent(own, *left);
  }
  scope_slot* slot = nullptr;
  for (;;) {
    slot = to != 0 ? known_slot(mine, to) : nullptr;
    if (HL_UNLIKELY(slot == nullptr && to != 0)) slot = slot_to_enter<Way>(own, to);
    {
      changing now(mine);
      __atomic_store_n(&mine.current_index, slot != nullptr ? slot->of->index : 0, __ATOMIC_RELAXED);
      __atomic_store_n(&mine.current, slot, __ATOMIC_RELAXED);
      if (left == nullptr) mine.mark = net_totals(own);  // else it is settled
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);  // pairs with the barrier in look_through_closed()
    if (slot == nullptr) break;
    if (admits<Way>(to, load_life(*slot->of))) break;
    to = nearest<Way>(to);
  }
  own.forget_recent();
  if (HL_UNLIKELY(own.gated)) set_publication_marks(own);
  if (slot != nullptr) {
    if (left == nullptr) {
      mine.process_mark = own.peak_mark;
      mine.outside = own.recent;
      own.recent = recent_accounts::nothing();
    }
    own.id = nobodys_accounts;
    own.here = slot->handle;
    own.gated = slot->of->gated || mine.nested;
    set_scope_mark(own);
    use_recent(own, *slot);
  } else {
    own.id = own.writer_id;
    own.here = 0;
    own.gated = false;
    if (left == nullptr) return from;
    own.peak_mark = mine.process_mark;
    own.recent = mine.outside;
  }
  return from;
}

}  // namespace

scope_handle switch_scope(books& own, scope_handle to) {
  return go<way::in>(own, to);
}

scope_handle switch_back(books& own, scope_handle to) {
  return go<way::back>(own, to);
}

void leave_scopes(books& own) {
  if (own.scopes == nullptr) return;
  switch_scope(own, 0);
  own.scopes->spare = 0;
  own.scopes->holding = own.scopes->notifying = own.scopes->nested = own.scopes->borrowed = false;
  own.scopes->interrupted_event = 0;
}

void borrow_scope(books& nested, const books& outer) {
  if (outer.scopes == nullptr || thread_scopes_of(nested) == nullptr) return;
  thread_scopes& mine = *nested.scopes;
  const scope_slot* const current = outer.scopes->current;
  const scope_handle there = current != nullptr ? current->handle : 0;
  const std::uint64_t events = outer.thread->allocations + outer.thread->frees;
  const std::uint64_t event = outer.generation ^ events * 0x9e3779b97f4a7c15u;  // known by its place and its number
  if (mine.nested && mine.interrupted_event == event && mine.interrupted_scope == there) return;  // the same handler
  mine.nested = true;
  mine.interrupted_event = event;
  mine.interrupted_scope = there;
  // Nothing is open where the handler before was: its scope may be gone, and another's record be in its place.
  mine.scope_mark = INT64_MAX;
  switch_back(nested, there);
  mine.borrowed = true;
}

void mend_scopes(books& own) {
  if (own.scopes == nullptr) return;
  own.scopes->crediting_index = own.scopes->folding_index = own.scopes->looking_index = 0;
  if (own.scopes->sequence % 2 != 0) ++own.scopes->sequence;
}

}  // namespace heapledger::probe
