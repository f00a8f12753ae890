#include "probe/scope/slots.hpp"

#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/budget.hpp"
#include "probe/scope/children.hpp"
#include "probe/scope/kinds.hpp"

namespace heapledger::probe {

constinit std::uint32_t slots_used = thread_scopes::slot_count;

namespace {

std::int64_t load(const std::int64_t& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

// What lives in the slot's scope and below, as far as this thread can see. Where a lease was taken back, `pending` may
// stand for what the thread freed and has not settled.
std::int64_t seen_live(const scope_slot& slot) {
  const std::int64_t pending = slot.pending[live];
  return load(slot.of->committed[live]) + (HL_UNLIKELY(pending > 0) && bounds_live(*slot.of) ? 0 : pending);
}

}  // namespace

void note_peak(scope_record& record, std::int64_t bytes) {
  std::int64_t known = load(record.peak_bytes);
  if (HL_LIKELY(bytes <= known)) return;
  while (bytes > known)
    if (__atomic_compare_exchange_n(&record.peak_bytes, &known, bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
  note_peak_of_kind(record.kind, bytes);
}

namespace {

bool stale(const scope_slot& slot) {
  return !names(slot.handle, settled_life(*slot.of, slot.handle));
}

void unlink(thread_scopes& mine, scope_slot& slot) {
  const auto number = static_cast<std::uint16_t>(&slot - mine.slots + 1);
  std::uint16_t* at = &mine.buckets[index_of(slot.handle) % thread_scopes::bucket_count];
  while (*at != number) at = &mine.slots[*at - 1].next;
  *at = slot.next;
}

void fold(scope_slot& slot) {
  scope_record& to = *slot.of;
  const folding now(to);
  __atomic_fetch_add(&to.folded.allocations, slot.counts.allocations, __ATOMIC_RELAXED);
  __atomic_fetch_add(&to.folded.allocated_bytes, slot.counts.allocated_bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&to.folded.frees, slot.counts.frees, __ATOMIC_RELAXED);
  __atomic_fetch_add(&to.folded.freed_bytes, slot.counts.freed_bytes, __ATOMIC_RELAXED);
  for (std::size_t r = 0; r < wire::resource_count; ++r)
    if (slot.pending[r] != 0) __atomic_fetch_add(&to.committed[r], slot.pending[r], __ATOMIC_RELAXED);
  __atomic_fetch_sub(&to.contributors, 1, __ATOMIC_RELAXED);
  slot.counts = {};
  for (std::int64_t& each : slot.pending) each = 0;
}

// Gives a slot up; what it holds goes to its scope, unless that was recycled, and has it already.
void give_up(thread_scopes& mine, scope_slot& slot) {
  const touching the_scope(mine.folding_index, index_of(slot.handle));
  const bool kept = !slot.hidden && !stale(slot);  // may wait, and must not while readers wait for us
  if (kept && slot.of->limited) wait_for_revocation(*slot.of);
  changing now(mine);
  if (kept) fold(slot);
  if (!slot.hidden) unlink(mine, slot);
  if (slot.parent != nullptr) --slot.parent->children;
  slot = {};
}

scope_slot* free_slot(thread_scopes& mine) {
  for (std::uint32_t looked = 0; looked < 2 * slots_used; ++looked) {
    scope_slot& slot = mine.slots[mine.hand];
    mine.hand = (mine.hand + 1) % slots_used;
    if (slot.handle == 0) return &slot;
    if (slot.children != 0 || &slot == mine.current) continue;
    if (slot.recently_used && looked < slots_used) {
      slot.recently_used = false;
      continue;
    }
    give_up(mine, slot);
    return &slot;
  }
  return nullptr;
}

// + 1; 0: others were there first.
std::uint32_t place_among_workers(const books& own, scope_record& record) {
  const std::uint32_t known = known_workers(record);
  for (std::uint32_t i = 0; i < known; ++i)
    if (__atomic_load_n(&record.workers[i], __ATOMIC_RELAXED) == &own) return i + 1;
  const std::uint32_t number = __atomic_fetch_add(&record.workers_met, 1, __ATOMIC_RELAXED);
  if (number >= scope_record::worker_count) return 0;
  __atomic_store_n(&record.workers[number], &own, __ATOMIC_RELAXED);
  return number + 1;
}

HL_COLD scope_slot* make_slot(books& own, scope_record& record, scope_handle handle, scope_slot* parent) {
  thread_scopes& mine = *own.scopes;
  if (parent != nullptr) ++parent->children;  // keeps it where it is
  scope_slot* slot = free_slot(mine);
  if (slot == nullptr) {
    if (parent != nullptr) --parent->children;
    return nullptr;
  }
  __atomic_fetch_add(&record.contributors, 1, __ATOMIC_RELAXED);
  const std::uint32_t place = place_among_workers(own, record);
  changing now(mine);
  *slot = {};
  slot->of = &record;
  slot->parent = parent;
  slot->place = place;
  std::uint16_t& bucket = mine.buckets[index_of(handle) % thread_scopes::bucket_count];
  slot->next = bucket;
  slot->handle = handle;
  slot->recently_used = true;
  bucket = static_cast<std::uint16_t>(slot - mine.slots + 1);
  return slot;
}

// Of a scope that had this record before.
void leave_former_slots(thread_scopes& mine, scope_handle handle) {
  std::uint16_t at = mine.buckets[index_of(handle) % thread_scopes::bucket_count];
  while (at != 0) {
    scope_slot& slot = mine.slots[at - 1];
    at = slot.next;
    if (index_of(slot.handle) != index_of(handle)) continue;
    if (slot.children == 0) {
      give_up(mine, slot);
    } else {
      changing now(mine);
      unlink(mine, slot);
      slot.hidden = true;
    }
  }
}

// Not by recursion: scopes are nested as deep as the program likes, on a stack of its own size.
HL_COLD scope_slot* make_slots(books& own, scope_record& record, scope_handle handle) {
  thread_scopes& mine = *own.scopes;
  scope_slot* inner = nullptr;
  std::uint32_t count = 0;
  for (scope_record* each = &record; each != nullptr && inner == nullptr; each = each->parent) {
    if (each != &record) inner = known_slot(mine, handle_of(*each, load_life(*each)));
    if (inner != nullptr) break;
    if (count == slots_used) return nullptr;
    mine.missing[count++] = each;
  }
  while (count != 0) {
    scope_record& each = *mine.missing[--count];
    const scope_handle its = &each == &record ? handle : handle_of(each, load_life(each));
    leave_former_slots(mine, its);
    inner = make_slot(own, each, its, inner);
    if (inner == nullptr) return nullptr;
  }
  return inner;
}

HL_COLD void note_open_peak(thread_scopes& mine) {
  for (const scope_slot* slot = mine.current; slot != nullptr; slot = slot->parent)
    note_peak(*slot->of, seen_live(*slot) + mine.scope_mark - mine.settled_live);
  __atomic_store_n(&mine.peak_open, false, __ATOMIC_RELEASE);
}

totals load_totals(const wire::thread& thread) {
  const auto* pair = reinterpret_cast<const __m128i*>(&thread.allocations);
  totals all;
  _mm_store_si128(reinterpret_cast<__m128i*>(&all.allocations), _mm_load_si128(pair));
  _mm_store_si128(reinterpret_cast<__m128i*>(&all.frees), _mm_load_si128(pair + 1));
  return all;
}

}  // namespace

void set_mark_of_frees(books& own) {
  const thread_scopes& mine = *own.scopes;
  own.peak_mark = mine.scope_mark < mine.process_mark ? mine.scope_mark : mine.process_mark;
}

void set_scope_mark(books& own) {
  thread_scopes& mine = *own.scopes;
  std::int64_t room = INT64_MAX / 2;
  for (const scope_slot* slot = mine.current; slot != nullptr; slot = slot->parent) {
    const std::int64_t here = load(slot->of->peak_bytes) - seen_live(*slot);
    if (here < room) room = here;
  }
  mine.scope_mark = own.live + room;
  mine.settled_live = own.live;
  set_mark_of_frees(own);
  if (HL_UNLIKELY(own.gated)) set_lease_marks(own);
}

void note_peaks(const thread_scopes& mine) {
  for (const scope_slot* slot = mine.current; slot != nullptr; slot = slot->parent)
    note_peak(*slot->of, seen_live(*slot));
}

void open_peak(books& own) {
  thread_scopes& mine = *own.scopes;
  mine.scope_mark = own.live;
  __atomic_store_n(&mine.peak_open, true, __ATOMIC_RELEASE);
  set_mark_of_frees(own);
}

std::int64_t open_peak_of(const thread_scopes& of, scope_handle handle) {
  if (!__atomic_load_n(&of.peak_open, __ATOMIC_ACQUIRE)) return 0;
  const scope_slot* slot = __atomic_load_n(&of.current, __ATOMIC_RELAXED);
  for (std::uint32_t steps = 0; slot != nullptr && steps < thread_scopes::slot_count; ++steps, slot = slot->parent)
    if (slot->handle == handle) return seen_live(*slot) + of.scope_mark - of.settled_live;
  return 0;
}

void settle(books& own) {
  thread_scopes& mine = *own.scopes;
  if (HL_UNLIKELY(own.gated)) wait_for_revocations(mine);  // who takes leases back looks at the open difference
  const totals now = net_totals(own);
  totals did = now;
  did -= mine.mark;
  if ((did.allocations | did.frees | did.freed_bytes) == 0) return;
  if (HL_UNLIKELY(mine.peak_open)) note_open_peak(mine);
  {
    changing counters(mine);
    mine.current->counts += did;
    mine.mark = now;
  }
  apply(mine, mine.current, did);
}

void apply(const thread_scopes& mine, scope_slot* slot, const totals& did) {
  const std::int64_t live_bytes = did.live_bytes();
  for (; slot != nullptr; slot = slot->parent) {
    scope_record& record = *slot->of;
    if (HL_UNLIKELY(record.limited)) wait_for_revocation(record);
    if (live_bytes < 0) note_peak(record, seen_live(*slot));
    slot->pending[live] += live_bytes;
    if (HL_UNLIKELY(record.limited)) {
      if (record.limit[allocated] != no_limit)
        slot->pending[allocated] += static_cast<std::int64_t>(did.allocated_bytes);
      if (record.limit[calls] != no_limit) slot->pending[calls] += static_cast<std::int64_t>(did.allocations);
      keep_lease_small(*slot, mine.holding);
    } else if (const std::int64_t most = held_back_in(record);
               slot->pending[live] > most || slot->pending[live] < -most) {
      // With one thread as well: another may come, to which it is no peak that this one keeps to itself.
      const std::int64_t now = __atomic_add_fetch(&record.committed[live], slot->pending[live], __ATOMIC_RELAXED);
      slot->pending[live] = 0;
      note_peak(record, now);
    }
  }
}

totals net_totals(const books& own) {
  totals all = load_totals(*own.thread);
  all -= own.scopes->excluded;
  return all;
}

void fold_directly(scope_record& record, const totals& did) {
  scope_slot once{};
  once.of = &record;
  __atomic_fetch_add(&record.contributors, 1, __ATOMIC_RELAXED);
  once.counts = did;
  for (scope_record* each = &record; each != nullptr; each = each->parent)
    __atomic_fetch_add(&each->committed[live], did.live_bytes(), __ATOMIC_RELAXED);
  fold(once);  // last: from then on the record may be another scope's
}

thread_scopes* thread_scopes_of(books& own) {
  if (HL_LIKELY(own.scopes != nullptr)) return own.scopes;
  auto* fresh = static_cast<thread_scopes*>(own_map(sizeof(thread_scopes)));
  if (fresh == nullptr) {
    count_loss(wire::loss::scopes_full);
    return nullptr;
  }
  fresh->process_mark = own.peak_mark;
  __atomic_store_n(&own.scopes, fresh, __ATOMIC_RELEASE);
  return fresh;
}

scope_slot* slot_of(books& own, scope_record& record, scope_handle handle) {
  thread_scopes& mine = *own.scopes;
  if (scope_slot* known = known_slot(mine, handle); HL_LIKELY(known != nullptr)) return known;
  return make_slots(own, record, handle);
}

}  // namespace heapledger::probe
