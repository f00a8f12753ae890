// Closed scopes, until they are recycled.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// A record that was just closed, and is in nobody else's hands until now. `own` is taken. Takes the lock of scopes when
// enough have piled up.
void pile_up(books& own, scope_record& record);
// There is no room for another scope. True: some were recycled that nobody needed any more, or may have been.
bool recycle_for_room();
void reset_recycling();

}  // namespace heapledger::probe
