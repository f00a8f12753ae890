#pragma once

#include "probe/hook/event.hpp"

namespace heapledger::probe {

// Turns a block that was booked as one kind into another.
HL_COLD void change_kind(void* block, block_kind kind);

}  // namespace heapledger::probe
