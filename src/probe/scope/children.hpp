// Which scopes are below a scope.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// By who makes the child, and keeps the parent meanwhile; takes no lock.
void arrive_at_parent(scope_record& child);
// With the lock of scopes held.
scope_record* first_child_of(scope_record& parent);
void leave_parent(scope_record& child);

}  // namespace heapledger::probe
