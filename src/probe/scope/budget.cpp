#include "probe/scope/budget.hpp"

#include "probe/account/registry.hpp"
#include "probe/base/lock.hpp"
#include "probe/scope/children.hpp"
#include "probe/scope/kinds.hpp"
#include "probe/scope/usage.hpp"

namespace heapledger::probe {
namespace {

constexpr std::int64_t largest_lease = 64 * 1024;
constexpr unsigned lease_shift = 3;  // an eighth of what is left, among the threads in the scope
constexpr int reclaim_rounds = 3;

std::int64_t load(const std::int64_t& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

// Of live bytes, past thresholds that were crossed: it must be seen when they are an eighth lower.
std::int64_t largest_lease_past_thresholds(const scope_record& record) {
  constexpr unsigned share_shift = 5;
  const std::uint32_t armed = __atomic_load_n(&record.armed, __ATOMIC_RELAXED);
  std::int64_t largest = largest_lease;
  for (std::uint32_t i = 0; i < record.threshold_count; ++i)
    if ((armed >> i & 1) == 0 && record.thresholds[i] >> share_shift < largest)
      largest = record.thresholds[i] >> share_shift;
  return largest;
}

std::int64_t fair_lease(std::uint32_t threads, std::int64_t left, std::int64_t largest) {
  if (left <= 0) return 0;
  // Divided by the next power of two: this is asked at every event.
  const std::int64_t fair = left >> (lease_shift + 32 - static_cast<unsigned>(__builtin_clz(threads | 1)));
  return fair < largest ? fair : largest;
}
std::int64_t fair_lease(const scope_record& record, std::int64_t left, std::int64_t largest) {
  return fair_lease(__atomic_load_n(&record.contributors, __ATOMIC_RELAXED), left, largest);
}

// Something was let through: until there is room again what threads freed, and keep as a lease, is nobody's.
bool past_hard_limit(const scope_record& record) {
  return record.fail && load(record.committed[live]) > record.limit[live];
}

// The lowest armed threshold; -1 is none.
int next_threshold(const scope_record& record) {
  const std::uint32_t armed = __atomic_load_n(&record.armed, __ATOMIC_RELAXED);
  int lowest = -1;
  for (std::uint32_t i = 0; i < record.threshold_count; ++i)
    if ((armed >> i & 1) != 0 && (lowest < 0 || record.thresholds[i] < record.thresholds[lowest]))
      lowest = static_cast<int>(i);
  return lowest;
}

// Before the children are looked at: one that arrives meanwhile looks itself (open_below).
void gate(scope_record& record) {
  for (scope_record* each = &record; each != nullptr; each = next_below(record, *each))
    __atomic_store_n(&each->gated, true, __ATOMIC_SEQ_CST);
}

// From now on the thread asks for everything.
void forget_leases(books& of) {
  __atomic_store_n(&of.publish_above, INT64_MIN, __ATOMIC_RELAXED);
  __atomic_store_n(&of.scopes->allocated_mark, INT64_MIN, __ATOMIC_RELAXED);
}

// What an idle thread holds of a scope's budget and does not use. Its open difference belongs to its current slot and
// to those above that.
void take_lease_back(const books& thread, thread_scopes& of, scope_slot& slot) {
  totals open{};
  for (const scope_slot* each = of.current; each != nullptr; each = each->parent) {
    if (each != &slot) continue;
    open = net_totals(thread);
    open -= of.mark;
    break;
  }
  const std::int64_t used[wire::resource_count] = {open.live_bytes(), static_cast<std::int64_t>(open.allocated_bytes),
                                                   static_cast<std::int64_t>(open.allocations)};
  for (std::size_t r = 0; r < wire::resource_count; ++r) {
    const std::int64_t held = slot.pending[r] + used[r];
    if (held >= 0 || slot.pending[r] == 0) continue;
    __atomic_fetch_add(&slot.of->committed[r], held, __ATOMIC_RELAXED);
    slot.pending[r] -= held;
  }
}

// Returns what threads hold of a scope's budget and do not use.
//
// First all see `revoking`: whoever marks how far its leases reach looks for it afterwards. Then what was marked before
// is undone. A thread that is not booking by then asks for its next allocation, and waits for the lock before it
// touches a lease; one that is booking keeps what it has.
void take_leases_back(scope_record& record, scope_handle handle) {
  lock_guard held(scopes_lock);
  if (!names(handle, load_life(record))) return;
  __atomic_store_n(&record.revoking, 1, __ATOMIC_SEQ_CST);
  bool seen = barrier_of_all_threads();
  if (seen) {
    for (books* each = all_books(); each != nullptr; each = each->next_made)
      if (__atomic_load_n(&each->scopes, __ATOMIC_ACQUIRE) != nullptr && each->gated) forget_leases(*each);
    seen = barrier_of_all_threads();
  }
  for (books* each = seen ? all_books() : nullptr; each != nullptr; each = each->next_made) {
    thread_scopes* of = __atomic_load_n(&each->scopes, __ATOMIC_ACQUIRE);
    if (of == nullptr || books::busy(__atomic_load_n(&each->generation, __ATOMIC_ACQUIRE)) ||
        __atomic_load_n(&of->holding, __ATOMIC_ACQUIRE))
      continue;
    if (scope_slot* slot = slot_in(*of, handle); slot != nullptr) take_lease_back(*each, *of, *slot);
  }
  __atomic_store_n(&record.revoking, 0, __ATOMIC_RELEASE);
}

admission lease(scope_slot& slot, std::size_t r, std::int64_t need, std::uint32_t& index) {
  scope_record& record = *slot.of;
  std::int64_t& committed = record.committed[r];
  int rounds = 0;
  bool looked = false;
  for (std::int64_t now = load(committed);;) {
    std::int64_t ceiling = record.limit[r];
    if (const int next = r == live ? next_threshold(record) : -1; next >= 0) {
      const std::int64_t threshold = record.thresholds[next];
      if (need >= threshold - now) {
        // Others may hold what they do not use.
        if (!looked && __atomic_load_n(&record.contributors, __ATOMIC_RELAXED) > 1) {
          looked = true;
          take_leases_back(record, slot.handle);
          now = load(committed);
          continue;
        }
        const std::uint32_t bit = 1u << next;
        if ((__atomic_fetch_and(&record.armed, ~bit, __ATOMIC_RELAXED) & bit) != 0) {
          index = static_cast<std::uint32_t>(next);
          return admission::threshold;
        }
        continue;
      }
      if (threshold - 1 < ceiling) ceiling = threshold - 1;
    }
    if (need > record.limit[r] - now) {
      if (const std::int64_t unused = slot.pending[r]; unused < 0) {
        // Two that asked at once would both be refused while each kept a part of what one of them needs.
        now = __atomic_add_fetch(&committed, unused, __ATOMIC_RELAXED);
        slot.pending[r] = 0;
        need -= unused;
        continue;
      }
      if (rounds++ == reclaim_rounds) {
        index = static_cast<std::uint32_t>(r);
        return admission::refused;
      }
      if (rounds > 1) sys::yield();
      take_leases_back(record, slot.handle);
      now = load(committed);
      continue;
    }
    const std::int64_t largest = r == live ? largest_lease_past_thresholds(record) : largest_lease;
    const std::int64_t take = need + fair_lease(record, ceiling - now - need, largest);
    if (__atomic_compare_exchange_n(&committed, &now, now + take, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      slot.pending[r] -= take;
      return admission::granted;
    }
  }
}

// What a scope gets back of the replaced block.
class credit {
 public:
  credit(books& own, const replaced_block& block) : bytes_(static_cast<std::int64_t>(block.bytes)) {
    if (block.bytes == 0) return;
    // A live block keeps its scope, and that those above.
    scope_record* const record = record_at(scope_of_account(block.account));
    // Without a slot the free is booked past the leases.
    if (record != nullptr && slot_of(own, *record, handle_of(*record, load_life(*record))) != nullptr) owner_ = record;
  }

  std::int64_t in(const scope_record& scope) const {
    for (const scope_record* each = owner_; each != nullptr; each = each->parent)
      if (each == &scope) return bytes_;
    return 0;
  }

 private:
  const std::int64_t bytes_;
  const scope_record* owner_ = nullptr;
};

}  // namespace

bool waivers::has(const scope_record* record) const {
  for (std::size_t i = 0; i < count; ++i)
    if (of[i] == record) return true;
  return false;
}

admission ask(books& own, std::size_t bytes, const replaced_block& replaced, const waivers& waived, obstacle& met) {
  const std::int64_t amounts[wire::resource_count] = {static_cast<std::int64_t>(bytes),
                                                      static_cast<std::int64_t>(bytes), 1};
  if (HL_UNLIKELY(amounts[live] < 0)) return admission::granted;  // the allocator will say no
  const credit given(own, replaced);
  for (scope_slot* slot = own.scopes->current; slot != nullptr; slot = slot->parent) {
    scope_record& record = *slot->of;
    if (!record.limited || waived.has(&record)) continue;
    wait_for_revocation(record);
    for (std::size_t r = 0; r < wire::resource_count; ++r) {
      const std::int64_t growth = amounts[r] - (r == live ? given.in(record) : 0);
      const std::int64_t need = slot->pending[r] + growth;
      const bool covered = need <= 0 && (r != live || growth <= 0 || !past_hard_limit(record));
      if (covered || (r == live ? !bounds_live(record) : record.limit[r] == no_limit)) continue;
      if (const admission result = lease(*slot, r, need, met.index); result != admission::granted) {
        met.record = &record;
        met.scope = slot->handle;
        return result;
      }
    }
  }
  return admission::granted;
}

void wait_for_revocation(const scope_record& record) {
  if (HL_UNLIKELY(__atomic_load_n(&record.revoking, __ATOMIC_ACQUIRE) != 0)) lock_guard wait(scopes_lock);
}

void wait_for_revocations(const thread_scopes& mine) {
  for (const scope_slot* slot = mine.current; slot != nullptr; slot = slot->parent) wait_for_revocation(*slot->of);
}

void keep_lease_small(scope_slot& slot, bool to_stay) {
  scope_record& record = *slot.of;
  const bool as_it_was = slot.pending[live] <= 0 && -slot.pending[live] <= slot.kept_bytes &&
                         slot.pending[allocated] <= 0 && slot.pending[calls] <= 0;
  if (HL_LIKELY(as_it_was)) return;
  bool over = false;
  for (std::size_t r = 0; r < wire::resource_count; ++r) {
    std::int64_t& pending = slot.pending[r];
    const bool bounded = r == live ? bounds_live(record) : record.limit[r] != no_limit;
    const std::int64_t held_back = r == live ? held_back_in(record) : hold_back_of_scope_bytes;
    if (!bounded && pending <= held_back && pending >= -held_back) continue;
    if (pending > 0 || !bounded) {
      // Let through, or without a limit.
      const std::int64_t now = __atomic_add_fetch(&record.committed[r], pending, __ATOMIC_RELAXED);
      over = over || now > record.limit[r] + (r == live ? record.reserve_bytes : 0);
      pending = 0;
    } else if (r == live) {
      const std::int64_t now = load(record.committed[live]);
      std::int64_t ceiling = record.limit[live];
      if (const int next = next_threshold(record); next >= 0) ceiling = record.thresholds[next];
      const std::int64_t fair = 2 * fair_lease(record, ceiling - now, largest_lease_past_thresholds(record));
      slot.kept_bytes = fair;
      if (-pending > fair && !to_stay) {
        const std::int64_t left = __atomic_add_fetch(&record.committed[live], pending + fair / 2, __ATOMIC_RELAXED);
        pending = -(fair / 2);
        for (std::uint32_t i = 0; i < record.threshold_count; ++i)
          if (left < record.thresholds[i] - record.thresholds[i] / 8 &&
              (__atomic_load_n(&record.armed, __ATOMIC_RELAXED) >> i & 1) == 0)
            __atomic_fetch_or(&record.armed, 1u << i, __ATOMIC_RELAXED);
      }
    }
  }
  if (over) note_overdraft(record.kind);
}

void set_lease_marks(books& own) {
  thread_scopes& mine = *own.scopes;
  std::int64_t rise = no_limit, fall = no_limit, bytes = no_limit, allocations = no_limit;
  const auto at_most = [](std::int64_t& value, std::int64_t other) {
    if (other < value) value = other;
  };
  for (const scope_slot* slot = mine.current; slot != nullptr; slot = slot->parent) {
    const scope_record& record = *slot->of;
    if (HL_UNLIKELY(record.exact)) rise = fall = 0;
    if (!record.limited) continue;
    if (bounds_live(record)) {
      const bool lends = !past_hard_limit(record);
      at_most(rise, lends ? -slot->pending[live] : 0);
      at_most(fall, lends ? slot->kept_bytes + slot->pending[live] : 0);
    }
    if (record.limit[allocated] != no_limit) at_most(bytes, -slot->pending[allocated]);
    if (record.limit[calls] != no_limit) at_most(allocations, -slot->pending[calls]);
  }
  mine.each_event = mine.nested || bytes != no_limit || allocations != no_limit;
  set_publication_marks(own);
  if (own.live + rise < own.publish_above) own.publish_above = own.live + rise;
  if (own.live - fall > own.publish_below) own.publish_below = own.live - (fall > 0 ? fall : 0);
  mine.allocated_mark = mine.nested ? INT64_MIN : static_cast<std::int64_t>(own.thread->allocated_bytes) + bytes;
  mine.calls_mark = static_cast<std::int64_t>(own.thread->allocations) + allocations;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // pairs with the barriers in take_leases_back()
  for (const scope_slot* slot = mine.current; slot != nullptr; slot = slot->parent)
    if (HL_UNLIKELY(__atomic_load_n(&slot->of->revoking, __ATOMIC_RELAXED) != 0)) forget_leases(own);
}

bool add_threshold(scope_record& record, std::int64_t live_bytes) {
  if (record.threshold_count == threshold_limit) return false;
  const std::uint32_t at = record.threshold_count;
  record.thresholds[at] = live_bytes;
  __atomic_store_n(&record.threshold_count, at + 1, __ATOMIC_RELEASE);
  record.limited = true;
  __atomic_fetch_or(&record.armed, 1u << at, __ATOMIC_RELAXED);
  gate(record);
  return true;
}

void make_exact(scope_record& record) {
  record.exact = true;
  gate(record);
}

std::int64_t most_unseen_bytes(const scope_record& record) {
  if (!bounds_live(record)) return record.exact ? 0 : 2 * hold_back_of_scope_bytes;
  // A lease for one thread alone is the largest; one that was taken stays until it is twice what would be fair.
  const std::int64_t fair = fair_lease(1, record.limit[live], largest_lease);
  return 2 * fair;
}

}  // namespace heapledger::probe
