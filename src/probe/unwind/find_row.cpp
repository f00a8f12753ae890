#include "probe/unwind/find_row.hpp"

#include <dlfcn.h>

namespace heapledger::probe {

row_search find_row(std::uint64_t address, cfi::function_entry& entry, cfi::row& row) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0 || object.dlfo_eh_frame == nullptr)
    return row_search::missing;
  if (!cfi::find(static_cast<const std::uint8_t*>(object.dlfo_eh_frame), address, entry)) return row_search::missing;
  return cfi::row_at(entry, address, row) ? row_search::found : row_search::malformed;
}

}  // namespace heapledger::probe
