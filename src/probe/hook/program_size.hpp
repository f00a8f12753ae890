#pragma once

#include <cstddef>

namespace heapledger::probe {

// What the program is told that it may use of a block: not its tag.
std::size_t program_size(void* block);

}  // namespace heapledger::probe
