// Memory that a program charges to a scope by hand: it did not come from its allocator.
#pragma once

#include "probe/hook/process.hpp"
#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// So many bytes more, or fewer. False: the scope's budget refuses. `own` is taken.
bool charge_foreign(books& own, scope_handle scope, std::int64_t bytes);
void forget_foreign();  // other books begin

}  // namespace heapledger::probe
