// Moves a block from the scope that it is charged to into another: booked as a free there and an allocation here.
#pragma once

#include "probe/hook/process.hpp"
#include "probe/scope/scope.hpp"

namespace heapledger::probe {

// False: the block is not ours, or the other scope's budget does not admit it; then nothing has changed.
bool transfer(books& own, void* block, scope_handle to);

}  // namespace heapledger::probe
