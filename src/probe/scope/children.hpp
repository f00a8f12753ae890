// Which scopes are below a scope.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// While what a scope did moves from one place to another: who adds it up without a lock repeats.
class folding {
 public:
  explicit folding(scope_record& of) : of_(of) { __atomic_fetch_add(&of_.folds_begun, 1, __ATOMIC_ACQ_REL); }
  ~folding() { __atomic_fetch_add(&of_.folds_ended, 1, __ATOMIC_ACQ_REL); }
  folding(const folding&) = delete;
  folding& operator=(const folding&) = delete;

 private:
  scope_record& of_;
};

// Whether nothing moved while something was read: begin, read with acquire order, and ask. No fold had begun by the end
// that had not ended at the beginning.
class at_rest {
 public:
  explicit at_rest(const scope_record& of) : of_(of), ended_(__atomic_load_n(&of.folds_ended, __ATOMIC_ACQUIRE)) {}
  bool still() const { return __atomic_load_n(&of_.folds_begun, __ATOMIC_ACQUIRE) == ended_; }

 private:
  const scope_record& of_;
  const std::uint32_t ended_;
};

// By who makes the child, and keeps the parent meanwhile; takes no lock.
void arrive_at_parent(scope_record& child);
// With the lock of scopes held.
scope_record* first_child_of(scope_record& parent);
// The one after it in a walk of what is below `root`, parents first, which itself is the first; nullptr: there is none.
scope_record* next_below(const scope_record& root, scope_record& record);
// What a child did, with what is below it, is its parent's from now on.
void leave_parent(scope_record& child, const totals& did);
// Any thread: whether there is none, if the parent stays at rest. Then all that children did is in `below`.
inline bool is_childless(const scope_record& of) {
  return __atomic_load_n(&of.arrived, __ATOMIC_ACQUIRE) == nullptr &&
         __atomic_load_n(&of.first_child, __ATOMIC_ACQUIRE) == nullptr;
}

}  // namespace heapledger::probe
