// Budgets: leases taken in advance, so that what is used never passes a limit.
#pragma once

#include "probe/scope/slots.hpp"

namespace heapledger::probe {

enum class admission { granted, threshold, refused };

// What an allocation met that is not simply granted.
struct obstacle {
  scope_record* record;
  scope_handle scope;
  std::uint32_t index;  // which threshold, or which resource
};

// Scopes that let one allocation pass although it is over their budgets: no more than a thread can be in.
struct waivers {
  static constexpr std::size_t capacity = thread_scopes::slot_count;
  std::size_t count = 0;
  const scope_record* of[capacity];
  bool has(const scope_record* record) const;
  void add(const scope_record* record) {
    if (count < capacity) of[count++] = record;
  }
};

// A live block whose place the allocation takes: its bytes come back to the scopes that it is in. Until then they are
// in use, and nobody else's.
struct replaced_block {
  std::uint32_t account = 0;
  std::size_t bytes = 0;  // 0: there is none
  bool operator==(const replaced_block&) const = default;
};

// Takes leases for one allocation in the current scope and all above it. `own` is taken, and settled.
admission ask(books& own, std::size_t bytes, const replaced_block& replaced, const waivers& waived, obstacle& met);

// Leases are taken back by other threads under the lock: to be called before one is touched, in an event.
void wait_for_revocation(const scope_record& record);
void wait_for_revocations(const thread_scopes& mine);  // of the current scope, and of all above it
// After a change: a lease that is larger than it should be goes back, unless it is to stay; what is over budget is
// written down.
void keep_lease_small(scope_slot& slot, bool to_stay);
// Marks the thread's totals with how far its leases reach.
void set_lease_marks(books& own);

// A place in live bytes that somebody wants to hear of; false when there are too many. With the lock held.
bool add_threshold(scope_record& record, std::int64_t live_bytes);
// From now on threads tell of all that they do in it. With the lock held.
void make_exact(scope_record& record);
// What one of several threads may have in the scope that its peak knows nothing of, or the peak have that it has not.
std::int64_t most_unseen_bytes(const scope_record& record);

}  // namespace heapledger::probe
