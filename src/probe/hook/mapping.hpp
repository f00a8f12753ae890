// The hooks of mmap, munmap and mremap: what the program maps itself, by stack.
#pragma once

namespace heapledger::probe {

// Looks up what is behind them. Until then they ask the kernel.
void start_mapping();
// With a new segment: its books of mappings are empty.
void begin_mapping_books();

}  // namespace heapledger::probe
