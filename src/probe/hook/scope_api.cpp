// The C functions of include/heapledger/heapledger.h.
#define HEAPLEDGER_WEAK
#include "heapledger/heapledger.h"

#include "probe/base/lock.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/foreign.hpp"
#include "probe/hook/program_calls.hpp"
#include "probe/hook/scope_gate.hpp"
#include "probe/hook/transfer.hpp"
#include "probe/scope/sites.hpp"
#include "probe/scope/usage.hpp"

using namespace heapledger::probe;

static_assert(sizeof(heapledger_notice) == sizeof(scope_notice) && sizeof(heapledger_refusal) == sizeof(refusal));
static_assert(sizeof(heapledger_usage) == sizeof(scope_usage));

namespace {

std::int64_t limit_of(std::uint64_t asked) {
  return asked < static_cast<std::uint64_t>(no_limit) ? static_cast<std::int64_t>(asked) : no_limit;
}

// What hangs on a scope is not part of what this thread does.
void destroy_remains() {
  scope_remains left;
  if (!take_remains(left)) return;
  const heapledger_scope here = heapledger_scope_current();
  const bool held = here != 0 && heapledger_scope_hold(here) != 0;
  heapledger_scope_enter(0);
  do left.destroy(left.user);
  while (take_remains(left));
  heapledger_scope_leave(here);
  if (held) heapledger_scope_release(here);
}

scope_handle create(const char* name, std::size_t name_bytes, scope_handle parent, const heapledger_budget* budget,
                    const scope_attachment& attachment) {
  scope_budget limits{{no_limit, no_limit, no_limit}, 0, false};
  if (budget != nullptr)
    limits = {{limit_of(budget->live_bytes), limit_of(budget->allocated_bytes), limit_of(budget->allocations)},
              limit_of(budget->reserve_bytes),
              budget->on_exceed == HEAPLEDGER_FAIL};
  if (!heapledger_active()) return 0;  // a forked child begins its books: until then its parent's locks may be held
  if (limits.fail) prepare_refusals();
  destroy_remains();
  const booking event(__builtin_dwarf_cfa());
  return event ? open_scope(*event, name, name_bytes, parent, limits, attachment) : 0;
}

template <class Function>
void set_once(Function& hook, Function to) {
  Function none = nullptr;
  __atomic_compare_exchange_n(&hook, &none, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

scope_record* named(scope_handle handle) {
  scope_record* record = record_at(index_of(handle));
  return record != nullptr && names(handle, load_life(*record)) ? record : nullptr;
}

}  // namespace

HL_EXPORT int heapledger_active(void) {
  const booking event(__builtin_dwarf_cfa());
  return event && program_calls_us() ? 1 : 0;
}

HL_EXPORT heapledger_scope heapledger_scope_create(const char* name, std::size_t name_bytes, heapledger_scope parent,
                                                   const heapledger_budget* budget) {
  return create(name, name_bytes, parent, budget, {});
}

HL_EXPORT heapledger_scope heapledger_scope_create_with(const char* name, std::size_t name_bytes,
                                                        heapledger_scope parent, const heapledger_budget* budget,
                                                        std::uint64_t kind, void* user, heapledger_notify notify,
                                                        void (*destroy)(void* user)) {
  if (user == nullptr) return create(name, name_bytes, parent, budget, {});
  return create(name, name_bytes, parent, budget, {user, kind, reinterpret_cast<scope_notify>(notify), destroy});
}

HL_EXPORT heapledger_scope heapledger_scope_enter(heapledger_scope scope) {
  const booking event(__builtin_dwarf_cfa());
  if (!event) return 0;
  const scope_handle left = switch_scope(*event, scope);
  entered_by_itself(*event);
  return left;
}

HL_EXPORT heapledger_scope heapledger_scope_leave(heapledger_scope before) {
  const booking event(__builtin_dwarf_cfa());
  if (!event) return 0;
  const scope_handle left = switch_back(*event, before);
  entered_by_itself(*event);
  return left;
}

HL_EXPORT heapledger_scope heapledger_scope_current(void) {
  const booking event(__builtin_dwarf_cfa());
  if (!event || event->scopes == nullptr || event->scopes->current == nullptr) return 0;
  return event->scopes->current->handle;
}

HL_EXPORT void heapledger_scope_close(heapledger_scope scope) {
  {
    const booking event(__builtin_dwarf_cfa());
    if (event) close_scope(*event, scope);
  }
  destroy_remains();
}

HL_EXPORT int heapledger_scope_usage(heapledger_scope scope, int alone, heapledger_usage* out) {
  const booking event(__builtin_dwarf_cfa());
  scope_usage found;
  if (!event || !usage_of(*event, scope, alone != 0, found)) return 0;
  __builtin_memcpy(out, &found, sizeof found);
  return 1;
}

HL_EXPORT int heapledger_scope_state(heapledger_scope scope) {
  const booking event(__builtin_dwarf_cfa());
  if (!event) return HEAPLEDGER_GONE;
  const scope_record* record = record_at(index_of(scope));
  if (record == nullptr) return HEAPLEDGER_GONE;
  const std::uint64_t life = settled_life(*record, scope);
  if (!names(scope, life)) return HEAPLEDGER_GONE;
  return state_of(life) == scope_state::open ? HEAPLEDGER_OPEN : HEAPLEDGER_CLOSED;
}

HL_EXPORT std::size_t heapledger_scope_name(heapledger_scope scope, char* out, std::size_t capacity) {
  if (capacity != 0) out[0] = 0;
  const booking event(__builtin_dwarf_cfa());
  if (!event || thread_scopes_of(*event) == nullptr) return 0;
  const in_hand record(*event->scopes, scope);
  const char* name = !record ? "" : &segment.strings[segment.scopes[record->kind].name];
  std::size_t length = 0;
  for (; name[length] != 0; ++length)
    if (length + 1 < capacity) out[length] = name[length];
  if (capacity != 0) out[length < capacity ? length : capacity - 1] = 0;
  return length;
}

HL_EXPORT int heapledger_scope_limits(heapledger_scope scope, heapledger_budget* out) {
  const booking event(__builtin_dwarf_cfa());
  if (!event || thread_scopes_of(*event) == nullptr) return 0;
  const in_hand record(*event->scopes, scope);
  if (!record) return 0;
  const auto as_asked = [&](std::size_t r) {
    return record->limit[r] == no_limit
               ? HEAPLEDGER_UNLIMITED
               : static_cast<std::uint64_t>(record->limit[r] + (r == live ? record->reserve_bytes : 0));
  };
  *out = {as_asked(live), as_asked(allocated), as_asked(calls), record->fail ? HEAPLEDGER_FAIL : HEAPLEDGER_STOP,
          static_cast<std::uint64_t>(record->reserve_bytes)};
  return 1;
}

HL_EXPORT heapledger_scope heapledger_scope_parent(heapledger_scope scope) {
  const booking event(__builtin_dwarf_cfa());
  if (!event || thread_scopes_of(*event) == nullptr) return 0;
  const in_hand record(*event->scopes, scope);
  return !record || record->parent == nullptr ? 0 : handle_of(*record->parent, load_life(*record->parent));
}

HL_EXPORT void* heapledger_scope_attach(heapledger_scope scope, void* user, heapledger_notify notify,
                                        void (*destroy)(void* user)) {
  return heapledger_scope_attach_as(scope, 0, user, notify, destroy);
}

HL_EXPORT void* heapledger_scope_attach_as(heapledger_scope scope, std::uint64_t kind, void* user,
                                           heapledger_notify notify, void (*destroy)(void* user)) {
  const booking event(__builtin_dwarf_cfa());
  if (!event || thread_scopes_of(*event) == nullptr) return nullptr;
  {
    const in_hand record(*event->scopes, scope);
    if (!record) return nullptr;
    void* const there = __atomic_load_n(&record->user, __ATOMIC_ACQUIRE);
    if (there != nullptr || user == nullptr) return there != nullptr && record->user_kind == kind ? there : nullptr;
  }
  const lock_guard held(scopes_lock);
  scope_record* record = named(scope);
  if (record == nullptr) return nullptr;
  if (record->user != nullptr) return record->user_kind == kind ? record->user : nullptr;
  record->user_kind = kind;
  record->destroy = destroy;
  __atomic_store_n(&record->user, user, __ATOMIC_RELEASE);
  __atomic_store_n(&record->notify, reinterpret_cast<scope_notify>(notify), __ATOMIC_RELEASE);
  return user;
}

HL_EXPORT int heapledger_scope_hold(heapledger_scope scope) {
  const booking event(__builtin_dwarf_cfa());
  return event && hold_scope(*event, scope) ? 1 : 0;
}

HL_EXPORT void heapledger_scope_release(heapledger_scope scope) {
  const booking event(__builtin_dwarf_cfa());
  if (event) release_scope(scope);
}

HL_EXPORT int heapledger_scope_threshold(heapledger_scope scope, std::uint64_t live_bytes) {
  const booking event(__builtin_dwarf_cfa());
  if (!event) return -1;
  lock_guard held(scopes_lock);
  scope_record* record = named(scope);
  if (record == nullptr || !add_threshold(*record, limit_of(live_bytes))) return -1;
  return static_cast<int>(record->threshold_count) - 1;
}

HL_EXPORT int heapledger_scope_exact_peak(heapledger_scope scope) {
  const booking event(__builtin_dwarf_cfa());
  if (!event) return 0;
  lock_guard held(scopes_lock);
  scope_record* record = named(scope);
  if (record == nullptr) return 0;
  make_exact(*record);
  return 1;
}

HL_EXPORT int heapledger_spare(int on) {
  const booking event(__builtin_dwarf_cfa());
  if (!event || thread_scopes_of(*event) == nullptr) return 0;
  std::uint32_t& depth = event->scopes->spare;
  if (on != 0)
    ++depth;
  else if (depth != 0)
    --depth;
  return 1;
}

HL_EXPORT void heapledger_on_refused_new(void (*throws)(const heapledger_refusal*)) {
  set_once(thrower, reinterpret_cast<throw_refusal>(throws));
}

HL_EXPORT void heapledger_on_refused_new_ask(int (*may)(void)) {
  set_once(may_throw, may);
}

HL_EXPORT void heapledger_on_refused_malloc_ask(int (*may)(const void*)) {
  set_once(may_fail, may);
}

HL_EXPORT int heapledger_scope_foreign(heapledger_scope scope, std::int64_t bytes) {
  const booking event(__builtin_dwarf_cfa());
  return !event || bytes == 0 || charge_foreign(*event, scope, bytes) ? 1 : 0;
}

HL_EXPORT std::size_t heapledger_scope_sites(heapledger_scope scope, heapledger_site* out, std::size_t capacity) {
  static_assert(sizeof(heapledger_site) == sizeof(scope_site));
  const booking event(__builtin_dwarf_cfa());
  if (!event || thread_scopes_of(*event) == nullptr) return 0;
  std::uint32_t kind = 0;
  {
    const in_hand record(*event->scopes, scope);
    if (!record) return 0;
    kind = record->kind;
  }
  return sites_of_kind(kind, reinterpret_cast<scope_site*>(out), capacity);
}

HL_EXPORT int heapledger_scope_transfer(void* block, heapledger_scope to) {
  if (!heapledger_active()) return 1;  // as where the probe is absent: what nobody counts is over no budget
  if (block == nullptr || is_bootstrap(block)) return 0;
  const booking event(__builtin_dwarf_cfa());
  return event && transfer(*event, block, to) ? 1 : 0;
}
