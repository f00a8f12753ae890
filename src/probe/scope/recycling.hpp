// Closed scopes, until they are recycled.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// A record that was just closed, and is in nobody else's hands until now. `own` is taken. Takes the lock of scopes when
// enough have piled up.
void pile_up(books& own, scope_record& record);
void reset_recycling();

}  // namespace heapledger::probe
