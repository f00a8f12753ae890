// realloc: the old block is booked as freed before it goes to the allocator, the new one as allocated after it came,
// and if none came, the old one is booked back.
#pragma once

#include "probe/hook/event.hpp"

namespace heapledger::probe {

void* resize(void* block, std::size_t bytes, const frame_state& caller);

}  // namespace heapledger::probe
