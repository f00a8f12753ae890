// One thread's part in scopes: where it is, and what it did in each scope.
//
// Written by its thread alone, under an odd sequence number when a reader must not look; leases are taken back from
// threads that are not booking (budget.cpp).
#pragma once

#include "probe/account/cells.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/freers.hpp"
#include "probe/scope/scope.hpp"

namespace heapledger::probe {

struct alignas(64) scope_slot {
  scope_handle handle;  // 0: free
  scope_record* of;
  scope_slot* parent;
  totals counts;
  std::int64_t pending[wire::resource_count];  // used, and not in of->committed
  std::int64_t kept_bytes;                     // a lease up to this need not be looked at
  std::uint16_t next;                          // slot + 1 in the same bucket
  std::uint16_t children;                      // slots whose parent this is: they keep it
  std::uint64_t recent_path;                   // which account the thread's last stack here had: a path and an
  std::uint32_t recent_account;                // account that the thread owns; 0: not known
  bool recently_used;
  bool hidden;          // not in its bucket any more: the record was recycled, but children point here
  std::uint32_t place;  // + 1, of the thread among the workers of the scope; 0: it has none
};
static_assert(sizeof(scope_slot) == 128);

// What operator new throws about.
struct refusal {
  scope_handle scope;
  std::uint32_t resource;
  std::uint64_t requested_bytes;
};

struct thread_scopes {
  static constexpr std::uint32_t slot_count = 256;
  static constexpr std::uint32_t bucket_count = 512;
  static constexpr std::uint32_t freer_count = 32;
  // Sets of accounts that were found lately: enough for 64 scopes in turn that allocate from a dozen stacks each.
  static constexpr unsigned set_bits = 10;
  static constexpr std::uint32_t set_accounts = 4;
  struct known_account {
    scope_handle scope;
    std::uint64_t path;
    std::uint32_t account;
  };

  std::uint32_t sequence;  // odd: being changed
  std::uint32_t current_index;
  scope_slot* current;
  // Scopes that the thread touches without being in them: see `touching`.
  std::uint32_t crediting_index, folding_index, looking_index;
  totals mark;              // net_totals() when the open difference was last added to the current slot
  totals excluded;          // events of this thread that were not the current scope's
  recent_accounts outside;  // the thread's own, while it is in a scope
  std::int64_t process_mark;
  std::int64_t scope_mark;    // of the thread's live bytes: beyond it a free ends a peak of the current scope, or above
  std::int64_t settled_live;  // they were that when the open difference was last empty
  bool peak_open;             // they were at the mark since, and no record says so
  std::int64_t allocated_mark;  // of the thread's totals: as far as leases reach
  std::int64_t calls_mark;
  bool each_event;      // looked at by these two
  std::uint32_t spare;  // inside code that must not fail
  bool holding;         // leases must stay: a realloc may have to be undone
  bool notifying;
  bool nested;    // of a signal handler that interrupted a booking: settled after each event
  bool borrowed;  // the current scope is the interrupted one
  std::uint64_t interrupted_event;
  scope_handle interrupted_scope;
  refusal last_refusal;
  own_accounts accounts;
  scope_record* closed;            // by this thread, until somebody looks through them
  std::uint32_t closed_uncounted;  // of these, not yet in the count of all
  std::uint32_t hand;
  std::uint16_t buckets[bucket_count];  // slot + 1
  known_account known[1u << set_bits][set_accounts];
  std::uint32_t replaced;  // of them, in turn
  known_freer freers[freer_count];
  scope_record* missing[slot_count];  // while slots are made: innermost first
  scope_slot slots[slot_count];
};

// While a thread changes what readers look at.
class changing {
 public:
  explicit changing(thread_scopes& of) : of_(of) {
    __atomic_store_n(&of_.sequence, of_.sequence + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);  // stores are seen in order on x86
  }
  ~changing() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&of_.sequence, of_.sequence + 1, __ATOMIC_RELEASE);
  }
  changing(const changing&) = delete;
  changing& operator=(const changing&) = delete;

 private:
  thread_scopes& of_;
};

// While a thread touches a scope that it is not in, which may have ended: it says so before it looks at the record, and
// that is visible to whoever has marked the record since; pairs with the barrier in look_through_closed().
class touching {
 public:
  touching(std::uint32_t& index, std::uint32_t scope) : index_(index) {
    __atomic_store_n(&index_, scope, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  ~touching() { __atomic_store_n(&index_, 0u, __ATOMIC_RELEASE); }
  touching(const touching&) = delete;
  touching& operator=(const touching&) = delete;

 private:
  std::uint32_t& index_;
};

// A scope that a thread looks at without being in it, which is not recycled meanwhile; nothing where it is gone. One at
// a time.
class in_hand {
 public:
  in_hand(thread_scopes& mine, scope_handle handle)
      : touching_(mine.looking_index, index_of(handle)), record_(record_at(index_of(handle))) {
    if (record_ != nullptr && !names(handle, settled_life(*record_, handle))) record_ = nullptr;
  }
  explicit operator bool() const { return record_ != nullptr; }
  scope_record* operator->() const { return record_; }
  scope_record& operator*() const { return *record_; }

 private:
  touching touching_;
  scope_record* record_;
};

inline constexpr std::int64_t hold_back_of_scope_bytes = 32 * 1024;
// What a thread may have in a scope without a limit on live bytes, and tell nobody.
inline std::int64_t held_back_in(const scope_record& record) {
  return HL_UNLIKELY(record.exact) ? 0 : hold_back_of_scope_bytes;
}
inline constexpr std::uint32_t nobodys_accounts = std::uint32_t{1} << 30;

// nullptr when there is no memory.
thread_scopes* thread_scopes_of(books& own);

// Enters a scope, or the nearest open ancestor of it; returns where the thread was. `own` is taken.
scope_handle switch_scope(books& own, scope_handle to);
// The same, back to where the thread was, which may have been closed since.
scope_handle switch_back(books& own, scope_handle to);
void leave_scopes(books& own);  // the thread ends
// A handler's books are where the interrupted ones are, until the handler enters a scope itself.
void borrow_scope(books& nested, const books& outer);
inline void entered_by_itself(const books& own) {
  thread_scopes* const mine = own.scopes;
  if (HL_LIKELY(mine == nullptr || !mine->nested)) return;
  mine->borrowed = (mine->current != nullptr ? mine->current->handle : 0) == mine->interrupted_scope;
}
void mend_scopes(books& own);  // after an event that was left by longjmp

// Where this thread books what has no stack, or another one than the thread's own, in its current scope.
account_cell stackless_account_cell(books& own);
account_cell account_cell_of_node(books& own, std::uint32_t node, std::uint64_t path);

// The slot that a thread has for a scope, or nullptr.
HL_HOT scope_slot* slot_in(thread_scopes& of, scope_handle handle) {
  std::uint16_t at = of.buckets[index_of(handle) % thread_scopes::bucket_count];
  while (at != 0 && of.slots[at - 1].handle != handle) at = of.slots[at - 1].next;
  return HL_UNLIKELY(at == 0) ? nullptr : &of.slots[at - 1];
}
// The thread's own, which it uses.
HL_HOT scope_slot* known_slot(thread_scopes& mine, scope_handle handle) {
  scope_slot* const slot = slot_in(mine, handle);
  if (HL_LIKELY(slot != nullptr)) slot->recently_used = true;
  return slot;
}
// That one, or a new one, and those of the scopes above it; nullptr where all are taken, or there are more scopes above
// it than slots.
scope_slot* slot_of(books& own, scope_record& record, scope_handle handle);
// The thread's totals without what belongs to other scopes.
totals net_totals(const books& own);
// The open difference goes to the current slot.
void settle(books& own);
// How far the thread's live bytes may rise before the current scope or an ancestor is at a peak, and how far leases
// reach. After whatever changes one of them; the open difference is empty.
void set_scope_mark(books& own);
// Whether an allocation is within the leases that the thread has.
HL_HOT bool leases_cover(const books& own, std::size_t bytes) {
  const auto more = static_cast<std::int64_t>(bytes);
  if (own.live + more > own.publish_above) return false;
  const thread_scopes& mine = *own.scopes;
  return !mine.each_event || (static_cast<std::int64_t>(own.thread->allocated_bytes) + more <= mine.allocated_mark &&
                              static_cast<std::int64_t>(own.thread->allocations) < mine.calls_mark);
}
void set_mark_of_frees(books& own);  // from the marks of the scope and of the process
void note_peak(scope_record& record, std::int64_t bytes);
void note_peaks(const thread_scopes& mine);
// A free found a peak. It is kept here until the thread settles: a thing grows by steps, each with a free.
void open_peak(books& own);
// The same as a reader sees it; 0: there is none in this scope.
std::int64_t open_peak_of(const thread_scopes& of, scope_handle handle);
// Books what was done in a scope for which this thread can have no slot.
void fold_directly(scope_record& record, const totals& did);
// Adds a change to a slot's scope and its ancestors.
void apply(const thread_scopes& mine, scope_slot* slot, const totals& did);
// After leases stayed for a change: what the thread has too many of, in the scope and above it, goes back.
HL_COLD void return_leases(books& own, std::uint32_t scope);

}  // namespace heapledger::probe
