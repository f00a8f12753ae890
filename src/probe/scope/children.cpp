#include "probe/scope/children.hpp"

namespace heapledger::probe {
namespace {

void put_first(scope_record& parent, scope_record& child) {
  child.next_sibling = parent.first_child;
  child.previous_sibling = nullptr;
  if (child.next_sibling != nullptr) child.next_sibling->previous_sibling = &child;
  __atomic_store_n(&parent.first_child, &child, __ATOMIC_RELAXED);
}

void add(totals& to, const totals& did) {
  const auto store = [](std::uint64_t& value, std::uint64_t by) {
    __atomic_store_n(&value, value + by, __ATOMIC_RELAXED);
  };
  store(to.allocations, did.allocations);
  store(to.allocated_bytes, did.allocated_bytes);
  store(to.frees, did.frees);
  store(to.freed_bytes, did.freed_bytes);
}

}  // namespace

void arrive_at_parent(scope_record& child) {
  if (child.parent == nullptr) return;
  scope_record*& arrived = child.parent->arrived;
  scope_record* first = __atomic_load_n(&arrived, __ATOMIC_RELAXED);
  do {
    child.next_sibling = first;
  } while (!__atomic_compare_exchange_n(&arrived, &first, &child, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

scope_record* first_child_of(scope_record& parent) {
  if (__atomic_load_n(&parent.arrived, __ATOMIC_RELAXED) != nullptr) {
    const folding now(parent);
    scope_record* child = __atomic_exchange_n(&parent.arrived, nullptr, __ATOMIC_ACQUIRE);
    while (child != nullptr) {
      scope_record* const next = child->next_sibling;
      put_first(parent, *child);
      child = next;
    }
  }
  return parent.first_child;
}

scope_record* next_below(const scope_record& root, scope_record& record) {
  scope_record* at = &record;
  scope_record* next = first_child_of(record);
  while (next == nullptr && at != &root) {
    next = at->next_sibling;
    at = at->parent;
  }
  return next;
}

void leave_parent(scope_record& child, const totals& did) {
  if (child.parent == nullptr) return;
  first_child_of(*child.parent);  // it may have arrived just now
  add(child.parent->below, did);
  if (child.previous_sibling != nullptr)
    child.previous_sibling->next_sibling = child.next_sibling;
  else  // release: who finds no child has what it did (is_childless)
    __atomic_store_n(&child.parent->first_child, child.next_sibling, __ATOMIC_RELEASE);
  if (child.next_sibling != nullptr) child.next_sibling->previous_sibling = child.previous_sibling;
}

}  // namespace heapledger::probe
