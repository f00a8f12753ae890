// Any bytes as unwind tables that a program registered and then wrote something else over: nothing beyond them is read.
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "probe/unwind/cfi.hpp"

namespace cfi = heapledger::probe::cfi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t distance = 0;
  if (size >= 2 * sizeof distance) std::memcpy(&distance, data + sizeof distance, sizeof distance);
  if (distance != 0) return 0;  // a single entry, whose common one lies before it
  cfi::function_entry entry;
  cfi::row row;
  for (cfi::entry_list entries({data, data + size}); entries.next(entry);)
    for (const std::uint64_t address : {entry.start, entry.start + (entry.end - entry.start) / 2, entry.end - 1})
      cfi::row_at(entry, address, row);
  cfi::find_in_section({data, data + size}, 0x1000, entry);
  return 0;
}
