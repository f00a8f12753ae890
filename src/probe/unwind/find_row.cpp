#include "probe/unwind/find_row.hpp"

#include <dlfcn.h>

#include "probe/unwind/registered_frames.hpp"

namespace heapledger::probe {

namespace {

bool find_entry(std::uint64_t address, cfi::function_entry& entry) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) return registered.find(address, entry);
  return object.dlfo_eh_frame != nullptr &&
         cfi::find(static_cast<const std::uint8_t*>(object.dlfo_eh_frame), address, entry);
}

}  // namespace

row_search find_row(std::uint64_t address, cfi::function_entry& entry, cfi::row& row) {
  if (!find_entry(address, entry)) return row_search::missing;
  return cfi::row_at(entry, address, row) ? row_search::found : row_search::malformed;
}

}  // namespace heapledger::probe
