// How scopes begin and end.
#include "probe/account/registry.hpp"
#include "probe/base/lock.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/children.hpp"
#include "probe/scope/kinds.hpp"
#include "probe/scope/records.hpp"
#include "probe/scope/recycling.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {

constinit bool scopes_in_use = false;
constinit std::uint32_t scopes_lock = 0;

namespace {

void begin(scope_record& record, scope_record* parent, const scope_budget& budget, const scope_attachment& attached) {
  record.parent = parent;
  record.limited = record.exact = record.fail = false;
  for (std::size_t r = 0; r < wire::resource_count; ++r) {
    record.limit[r] = budget.limit[r];
    record.limited = record.limited || budget.limit[r] != no_limit;
    record.committed[r] = 0;
  }
  record.reserve_bytes = 0;
  if (budget.limit[live] != no_limit) {
    record.reserve_bytes = budget.reserve_bytes < budget.limit[live] ? budget.reserve_bytes : budget.limit[live];
    record.limit[live] -= record.reserve_bytes;
  }
  record.fail = budget.fail;
  record.gated = record.limited || (parent != nullptr && parent->gated);
  record.revoking = 0;
  record.peak_bytes = 0;
  record.foreign = {};
  record.contributors = record.armed = record.threshold_count = record.holds = record.workers_met = 0;
  for (const books*& worker : record.workers) worker = nullptr;
  for (std::uint32_t& first : record.bound_by) first = 0;
  record.folded = record.below = {};
  record.arrived = record.first_child = nullptr;
  record.user_kind = attached.user_kind;
  record.notify = attached.notify;
  record.destroy = attached.destroy;
  record.user = attached.user;
}

// Where there are kinds enough its parent's stands for its own, which keeps its own numbers.
bool has_own_kind(const scope_record& record) {
  return record.kind != (record.parent != nullptr ? record.parent->kind : 0);
}

scope_handle open_below(scope_record* parent, const char* name, std::size_t name_bytes, const scope_budget& budget,
                        const scope_attachment& attachment) {
  const std::uint32_t kind = kind_of(parent == nullptr ? 0 : parent->kind, name, name_bytes);
  scope_record* record = take_record(kind);
  if (HL_UNLIKELY(record == nullptr) && recycle_for_room()) record = take_record(kind);
  if (record == nullptr) {
    count_loss(wire::loss::scopes_full);
    return 0;
  }
  record->kind = kind;
  if (bind_base_account(*record) == 0) {
    put_back(*record);
    count_loss(wire::loss::scopes_full);
    return 0;
  }
  begin(*record, parent, budget, attachment);
  if (has_own_kind(*record)) note_opened(kind, budget);
  const std::uint64_t life = life_of(record->life, scope_state::open);
  __atomic_store_n(&record->life, life, __ATOMIC_RELEASE);
  arrive_at_parent(*record);
  // Was a threshold added to it just before?
  if (parent != nullptr && __atomic_load_n(&parent->gated, __ATOMIC_SEQ_CST)) record->gated = true;
  return handle_of(*record, life);
}

HL_COLD void begin_to_use_scopes() {
  const lock_guard held(scopes_lock);
  __atomic_store_n(&sole_writer, no_sole_writer, __ATOMIC_RELEASE);
  __atomic_store_n(&scopes_in_use, true, __ATOMIC_RELEASE);
}

}  // namespace

std::uint64_t settled_life(const scope_record& record, scope_handle handle) {
  std::uint64_t life = load_life(record);
  while (HL_UNLIKELY(state_of(life) == scope_state::retiring) && names(handle, life)) {
    lock_guard wait(scopes_lock);
    life = load_life(record);
  }
  return life;
}

scope_handle nearest_open(scope_handle handle) {
  while (handle != 0) {
    const scope_record* record = record_at(index_of(handle));
    if (record == nullptr) return 0;
    const std::uint64_t life = settled_life(*record, handle);
    if (!names(handle, life)) return 0;
    if (state_of(life) == scope_state::open) return handle;
    const scope_record* parent = record->parent;
    const scope_handle up = parent == nullptr ? 0 : handle_of(*parent, load_life(*parent));
    // Was it recycled meanwhile, its parent was somebody else's.
    if (!names(handle, load_life(*record))) return 0;
    handle = up;
  }
  return 0;
}

scope_handle open_scope(books& own, const char* name, std::size_t name_bytes, scope_handle parent,
                        const scope_budget& budget, const scope_attachment& attachment) {
  thread_scopes* const mine = thread_scopes_of(own);
  if (mine == nullptr) return 0;
  if (HL_UNLIKELY(!__atomic_load_n(&scopes_in_use, __ATOMIC_RELAXED))) begin_to_use_scopes();
  for (;;) {
    const scope_handle below = nearest_open(parent);
    const touching the_parent(mine->looking_index, index_of(below));
    scope_record* const above = record_at(index_of(below));
    if (above == nullptr || load_life(*above) == life_of(below, scope_state::open))
      return open_below(above, name, name_bytes, budget, attachment);
  }
}

void close_scope(books& own, scope_handle handle) {
  scope_record* record = record_at(index_of(handle));
  if (record == nullptr) return;
  std::uint64_t open = life_of(handle, scope_state::open);
  if (!__atomic_compare_exchange_n(&record->life, &open, life_of(handle, scope_state::closed), false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    return;
  // Until it is piled up it is this thread's: nobody else looks whether it has finished.
  if (has_own_kind(*record)) note_closed(record->kind);
  pile_up(own, *record);
}

bool hold_scope(books& own, scope_handle handle) {
  thread_scopes* const mine = thread_scopes_of(own);
  if (mine == nullptr) return false;
  const in_hand scope(*mine, handle);
  if (!scope) return false;
  __atomic_fetch_add(&scope->holds, 1, __ATOMIC_RELAXED);  // seen before the scope is out of hand
  return true;
}

void release_scope(scope_handle handle) {
  // A child process has other records.
  scope_record* record = record_at(index_of(handle));
  if (record == nullptr || !names(handle, load_life(*record))) return;
  std::uint32_t holds = __atomic_load_n(&record->holds, __ATOMIC_RELAXED);
  while (holds != 0)
    if (__atomic_compare_exchange_n(&record->holds, &holds, holds - 1, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) break;
}

void reset_scopes(bool unmap) {
  scopes_lock = 0;
  scopes_in_use = false;
  reset_records(unmap);
  reset_recycling();
  reset_bindings(unmap);
  reset_freers(unmap);
  reset_kinds();
}

}  // namespace heapledger::probe
